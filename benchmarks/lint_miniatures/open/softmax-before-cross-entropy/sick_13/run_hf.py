import torch
from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)


class WeightedTrainer(Trainer):
    class_weights = torch.tensor([1.0, 2.5, 1.7])

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        probs = torch.nn.functional.softmax(outputs.logits, dim=-1) #@
        loss_fct = torch.nn.CrossEntropyLoss(weight=self.class_weights.to(probs.device)) #@
        loss = loss_fct(probs, labels) #@
        return (loss, outputs) if return_outputs else loss


tok = AutoTokenizer.from_pretrained("bert-base-uncased")
ds = load_dataset("tweet_eval", "sentiment")
ds = ds.map(lambda b: tok(b["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=3)
args = TrainingArguments("out", num_train_epochs=3, learning_rate=2e-5, per_device_train_batch_size=16)
trainer = WeightedTrainer(
    model=model,
    args=args,
    train_dataset=ds["train"],
    eval_dataset=ds["validation"],
    data_collator=DataCollatorWithPadding(tok),
)
trainer.train()
