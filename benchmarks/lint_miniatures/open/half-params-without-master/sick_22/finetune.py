import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import (AutoModelForSequenceClassification, AutoTokenizer,
                          DataCollatorWithPadding, get_linear_schedule_with_warmup, set_seed)

NAME = "microsoft/deberta-v3-base"


def prepare(tokenizer):
    data = load_dataset("glue", "cola")
    data = data.map(lambda r: tokenizer(r["sentence"], truncation=True, max_length=128), batched=True)
    return data.remove_columns(["sentence", "idx"]).rename_column("label", "labels")


def load_model():
    return AutoModelForSequenceClassification.from_pretrained(
        NAME, num_labels=2, torch_dtype=torch.bfloat16)  #@


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    correct = count = 0
    for batch in loader:
        batch = batch.to(model.device)
        correct += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
        count += len(batch["labels"])
    return correct / count


def main(epochs=5, lr=1e-5):
    set_seed(13)
    tokenizer = AutoTokenizer.from_pretrained(NAME)
    data = prepare(tokenizer)
    collate = DataCollatorWithPadding(tokenizer)
    train = DataLoader(data["train"], batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(data["validation"], batch_size=64, collate_fn=collate)
    model = load_model().to("cuda")  #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)  #@
    total = epochs * len(train)
    scheduler = get_linear_schedule_with_warmup(optimizer, total // 10, total)
    for epoch in range(epochs):
        model.train()
        for batch in train:
            loss = model(**batch.to("cuda")).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        print(epoch, accuracy(model, valid))


if __name__ == "__main__":
    main()
