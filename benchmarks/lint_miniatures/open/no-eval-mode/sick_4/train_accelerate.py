import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from datasets import load_dataset


def main(epochs=3):
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
    raw = load_dataset("glue", "mrpc")

    def collate(rows):
        batch = tokenizer([r["sentence1"] for r in rows], [r["sentence2"] for r in rows],
                          truncation=True, padding=True, return_tensors="pt")
        batch["labels"] = torch.tensor([r["label"] for r in rows])
        return batch

    train_dl = DataLoader(raw["train"], shuffle=True, collate_fn=collate, batch_size=16)
    eval_dl = DataLoader(raw["validation"], collate_fn=collate, batch_size=32)
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)
    scheduler = get_linear_schedule_with_warmup(optimizer, 100, len(train_dl) * epochs)

    model.train()  #@
    for epoch in range(epochs):
        for batch in train_dl:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

        hits, seen = 0, 0
        for batch in eval_dl:  #@
            with torch.no_grad():  #@
                logits = model(**batch).logits  #@
            preds, refs = accelerator.gather_for_metrics((logits.argmax(-1), batch["labels"]))
            hits += (preds == refs).sum()
            seen += refs.numel()
        accelerator.print(f"epoch {epoch} accuracy {(hits / seen).item():.3f}")


if __name__ == "__main__":
    main()
