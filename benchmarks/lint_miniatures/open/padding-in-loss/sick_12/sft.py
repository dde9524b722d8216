import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer


class Collator:
    def __init__(self, tokenizer, max_length=512):
        self.tokenizer, self.max_length = tokenizer, max_length

    def __call__(self, rows):
        enc = self.tokenizer(
            [r["text"] + self.tokenizer.eos_token for r in rows],
            padding="max_length", #@
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        )
        enc["labels"] = enc["input_ids"].clone() #@
        return enc


def main():
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()
    data = load_dataset("roneneldan/TinyStories", split="train[:5%]")
    loader = DataLoader(data, batch_size=16, shuffle=True, collate_fn=Collator(tokenizer)) #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    model.train()
    for step, batch in enumerate(loader):
        loss = model(**batch.to("cuda")).loss #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, loss.item())
    model.save_pretrained("stories")


if __name__ == "__main__":
    main()
