from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    lr: float = 5e-4
    batch_size: int = 50
    epochs: int = 30
    warmup_steps: int = 1000  #@
    label_smoothing: float = 0.1


class Trainer:
    def __init__(self, model, cfg: TrainConfig):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=cfg.epochs)  #@
        self.loss = nn.CrossEntropyLoss(label_smoothing=cfg.label_smoothing)

    def fit(self, train_set, val_set):
        train_dl = DataLoader(train_set, self.cfg.batch_size, shuffle=True)
        val_dl = DataLoader(val_set, self.cfg.batch_size)
        for epoch in range(self.cfg.epochs):
            self.model.train()
            for x, y in train_dl:
                self.opt.zero_grad()
                self.loss(self.model(x), y).backward()
                self.opt.step()
            self.sched.step()
            print(epoch, self.accuracy(val_dl))

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        return torch.cat([self.model(x).argmax(1) == y for x, y in loader]).float().mean().item()


if __name__ == "__main__":
    x, y = torch.randn(3000, 40), torch.randint(0, 8, (3000,))
    net = nn.Sequential(nn.Linear(40, 128), nn.GELU(), nn.Linear(128, 8))
    Trainer(net, TrainConfig()).fit(TensorDataset(x[:2500], y[:2500]), TensorDataset(x[2500:], y[2500:]))
