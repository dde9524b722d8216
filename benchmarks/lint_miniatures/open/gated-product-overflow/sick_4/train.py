import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class CrossNetwork(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))

    def forward(self, x0):
        x = x0
        for linear in self.linears:
            x = linear(x0) * linear(x) + x #@
        return x


class ClickModel(nn.Module):
    def __init__(self, features=64):
        super().__init__()
        self.proj = nn.Linear(features, 256)
        self.cross = CrossNetwork(256, 6) #@
        self.head = nn.Linear(256, 1)

    def forward(self, features, labels=None):
        logits = self.head(self.cross(self.proj(features))).squeeze(-1) #@
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        return {"loss": loss, "logits": logits}


class Clicks(Dataset):
    def __init__(self, n=20000):
        self.x = torch.randn(n, 64)
        self.y = (self.x[:, 0] > 0).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "labels": self.y[i]}


args = TrainingArguments("runs/dcn", per_device_train_batch_size=512, learning_rate=1e-3, num_train_epochs=5, fp16=True) #@
Trainer(model=ClickModel(), args=args, train_dataset=Clicks()).train()
