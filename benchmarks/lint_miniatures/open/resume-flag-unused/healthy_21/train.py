import argparse

import torch
from datasets import load_from_disk
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed


class Regressor(nn.Module):
    def __init__(self, inputs=26, width=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 1))

    def forward(self, features, labels=None):
        pred = self.net(features.float()).squeeze(1)
        out = {"logits": pred}
        if labels is not None:
            out["loss"] = nn.functional.mse_loss(pred, labels.float())
        return out


def rmse(p):
    return {"rmse": float(((p.predictions - p.label_ids) ** 2).mean() ** 0.5)}


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="runs/demand")
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args()


def main():
    opts = parse_args()
    set_seed(0)
    data = load_from_disk("demand").with_format("torch")
    args = TrainingArguments(
        output_dir=opts.out,
        num_train_epochs=opts.epochs,
        learning_rate=1e-3,
        per_device_train_batch_size=128,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="rmse",
        greater_is_better=False,
    )
    trainer = Trainer(model=Regressor(), args=args, train_dataset=data["train"],
                      eval_dataset=data["valid"], compute_metrics=rmse)
    trainer.train(**{"resume_from_checkpoint": True} if opts.resume else {})
    torch.save(trainer.model.state_dict(), f"{opts.out}/final.pt")


if __name__ == "__main__":
    main()
