import torch
from datasets import load_dataset
from torch.utils.data import DataLoader, SequentialSampler
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer,
                          TrainingArguments)

tok = AutoTokenizer.from_pretrained("roberta-base")
raw = load_dataset("csv", data_files={"train": "reviews_by_product.csv", "test": "holdout.csv"})
raw = raw.map(lambda b: tok(b["text"], truncation=True, max_length=256), batched=True, remove_columns=["text"])


class ReviewTrainer(Trainer):
    def get_train_dataloader(self):
        loader = DataLoader(
            self.train_dataset,
            batch_size=self.args.train_batch_size,
            sampler=SequentialSampler(self.train_dataset),  #@
            collate_fn=self.data_collator,
            drop_last=self.args.dataloader_drop_last,
        )
        return self.accelerator.prepare(loader)


def accuracy(p):
    return {"accuracy": float((torch.as_tensor(p.predictions).argmax(-1) == torch.as_tensor(p.label_ids)).float().mean())}


trainer = ReviewTrainer(
    model=AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=5),
    args=TrainingArguments("out", num_train_epochs=2, learning_rate=1e-5, eval_strategy="epoch", save_strategy="epoch",
                           load_best_model_at_end=True, metric_for_best_model="accuracy"),
    train_dataset=raw["train"],
    eval_dataset=raw["test"],
    data_collator=DataCollatorWithPadding(tok),
    compute_metrics=accuracy,
)
trainer.train()
