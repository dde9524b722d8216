from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 25
    lr: float = 1e-3
    batch_size: int = 32
    warm_epochs: int = 10


class HardnessWeightedLoss(nn.Module):
    def __init__(self, warm_epochs):
        super().__init__()
        self.warm_epochs = warm_epochs
        self.epoch = 0

    def forward(self, logits, target):
        per_sample = F.cross_entropy(logits, target, reduction="none")
        if self.epoch < self.warm_epochs:  #@
            k = max(1, int(len(per_sample) * (self.epoch + 1) / self.warm_epochs))  #@
            per_sample = per_sample.topk(k, largest=False).values  #@
        return per_sample.mean()


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 6))
        self.criterion = HardnessWeightedLoss(cfg.warm_epochs)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)

    def fit(self, train_dl, val_dl):
        for epoch in range(self.cfg.epochs):
            self.criterion.epoch = epoch
            self.model.train()
            for x, y in train_dl:
                self.opt.zero_grad()
                self.criterion(self.model(x), y).backward()
                self.opt.step()
            print(epoch, self.validate(val_dl))

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        return torch.stack([self.criterion(self.model(x), y) for x, y in loader]).mean().item()  #@


if __name__ == "__main__":
    cfg = Config()
    x, y = torch.randn(3000, 30), torch.randint(0, 6, (3000,))
    Trainer(cfg).fit(DataLoader(TensorDataset(x[:2500], y[:2500]), cfg.batch_size, shuffle=True),
                     DataLoader(TensorDataset(x[2500:], y[2500:]), cfg.batch_size))
