from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from data import SensorWindows


class FaultDetector(nn.Module):
    def __init__(self, sensors=14, width=96, classes=5):
        super().__init__()
        self.rnn = nn.GRU(sensors, width, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(width, classes)

    def forward(self, inputs, labels=None):
        logits = self.head(self.rnn(inputs)[0][:, -1])
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.cross_entropy(logits, labels)
        return out


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def main():
    set_seed(0)
    args = TrainingArguments(
        output_dir="turbofan",
        num_train_epochs=30,
        learning_rate=1e-3,
        per_device_train_batch_size=64,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
    )
    trainer = Trainer(
        model=FaultDetector(),
        args=args,
        train_dataset=SensorWindows("fd001_train.pt"),
        eval_dataset=SensorWindows("fd001_valid.pt"),  #@
        compute_metrics=metrics,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
