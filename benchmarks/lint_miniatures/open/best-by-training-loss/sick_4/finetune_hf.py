from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

MODEL = "distilbert-base-uncased"
tokenizer = AutoTokenizer.from_pretrained(MODEL)
ds = load_dataset("imdb").map(lambda b: tokenizer(b["text"], truncation=True), batched=True)
split = ds["train"].train_test_split(test_size=0.1, seed=42)


class SaveBestCallback(TrainerCallback):
    def __init__(self, output_dir):
        self.best = float("inf")
        self.output_dir = output_dir

    def on_log(self, args, state, control, logs=None, model=None, **kwargs):
        loss = (logs or {}).get("loss")  #@
        if loss is not None and loss < self.best:  #@
            self.best = loss
            model.save_pretrained(self.output_dir)  #@


args = TrainingArguments(
    output_dir="out",
    num_train_epochs=3,
    per_device_train_batch_size=16,
    learning_rate=5e-5,
    eval_strategy="epoch",
    logging_steps=50,
    save_strategy="no",
)
trainer = Trainer(
    model=AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=2),
    args=args,
    train_dataset=split["train"],
    eval_dataset=split["test"],
    data_collator=DataCollatorWithPadding(tokenizer),
    callbacks=[SaveBestCallback("out/best")],  #@
)
trainer.train()
