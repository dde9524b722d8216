import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "EleutherAI/pythia-410m"
tok = AutoTokenizer.from_pretrained(NAME)
tok.pad_token = tok.eos_token
base = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).cuda()
model = get_peft_model(base, LoraConfig(r=16, target_modules=["query_key_value"], task_type="CAUSAL_LM"))
trainable = [p for p in model.parameters() if p.requires_grad]
for p in trainable:
    p.data = p.data.float()


def collate(rows):
    batch = tok([r["text"] for r in rows], padding=True, truncation=True, max_length=512, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


loader = DataLoader(load_dataset("tatsu-lab/alpaca", split="train"), batch_size=8, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(trainable, lr=2e-4)
model.train()
for batch in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(**batch.to("cuda")).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.save_pretrained("lora")
