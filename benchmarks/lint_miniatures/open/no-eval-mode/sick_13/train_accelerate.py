import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding

accelerator = Accelerator()
tok = AutoTokenizer.from_pretrained("distilbert-base-uncased")
raw = load_dataset("imdb")
ds = raw.map(lambda b: tok(b["text"], truncation=True, max_length=256), batched=True, remove_columns=["text"])
ds = ds.rename_column("label", "labels")
collate = DataCollatorWithPadding(tok)
train_dl = DataLoader(ds["train"], batch_size=16, shuffle=True, collate_fn=collate)
eval_dl = DataLoader(ds["test"], batch_size=64, collate_fn=collate)

model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)


def run_eval(model, loader): #@
    hits, seen = 0, 0
    for batch in loader: #@
        with torch.no_grad():
            logits = model(**batch).logits #@
        preds, refs = accelerator.gather_for_metrics((logits.argmax(-1), batch["labels"]))
        hits += (preds == refs).sum()
        seen += len(refs)
    return hits.item() / seen


model.train() #@
for epoch in range(3):
    for batch in train_dl:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(epoch, run_eval(model, eval_dl)) #@
