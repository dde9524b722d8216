import torch
from transformers import Trainer, TrainingArguments
from torch import nn
from torch.utils.data import Dataset


class Toy(Dataset):
    def __init__(self, n=1000):
        self.x = torch.randn(n, 10)
        self.y = (self.x.sum(1) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"inputs": self.x[i], "labels": self.y[i]}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 2))

    def forward(self, inputs, labels=None):
        logits = self.layers(inputs)
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, gradient_accumulation_steps=4, num_train_epochs=3
)
Trainer(model=Net(), args=args, train_dataset=Toy()).train()
