import torch
from datasets import load_dataset
from torch.utils.data import DataLoader, SequentialSampler
from transformers import (AutoModelForSequenceClassification, AutoTokenizer,
                          DataCollatorWithPadding, Trainer, TrainingArguments, set_seed)

CHECKPOINT = "distilbert-base-uncased"


class ReviewTrainer(Trainer):
    def get_train_dataloader(self):
        return self.accelerator.prepare(DataLoader(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            sampler=SequentialSampler(self.train_dataset),  #@
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=True,
        ))


def encode(tokenizer):
    data = load_dataset("imdb")
    data.pop("unsupervised")
    return data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=256),
                    batched=True, remove_columns=["text"])


def accuracy(output):
    return {"accuracy": float((output.predictions.argmax(-1) == output.label_ids).mean())}


def main():
    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    data = encode(tokenizer)
    args = TrainingArguments(
        output_dir="imdb",
        num_train_epochs=3,
        learning_rate=2e-5,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        eval_strategy="epoch",
        dataloader_num_workers=2,
        bf16=torch.cuda.is_available(),
    )
    model = AutoModelForSequenceClassification.from_pretrained(CHECKPOINT, num_labels=2)
    trainer = ReviewTrainer(model=model, args=args, train_dataset=data["train"],
                            eval_dataset=data["test"], compute_metrics=accuracy,
                            data_collator=DataCollatorWithPadding(tokenizer))
    trainer.train()


if __name__ == "__main__":
    main()
