import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_linear_schedule_with_warmup

NAME = "EleutherAI/pythia-410m"
tok = AutoTokenizer.from_pretrained(NAME)
tok.pad_token = tok.eos_token
model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).cuda() #@
data = load_dataset("tatsu-lab/alpaca", split="train")


def collate(rows):
    batch = tok([r["text"] for r in rows], padding=True, truncation=True, max_length=512, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.0) #@
scheduler = get_linear_schedule_with_warmup(optimizer, 100, 3 * len(loader))
model.train()
for epoch in range(3):
    for step, batch in enumerate(loader):
        loss = model(**batch.to("cuda")).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step() #@
        scheduler.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print(epoch, step, loss.item())
model.save_pretrained("alpaca-pythia")
