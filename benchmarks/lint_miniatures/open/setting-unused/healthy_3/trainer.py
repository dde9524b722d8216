from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class OptimConfig:
    lr: float = 5e-4
    weight_decay: float = 0.02
    betas: tuple = (0.9, 0.98)


class TrainLoop:
    settings = ("epochs", "batch_size", "clip")

    def __init__(self, model, optim_cfg, **kwargs):
        for name in self.settings:
            setattr(self, name, kwargs[name])
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), **asdict(optim_cfg))

    def fit(self, train_set, val_set):
        train_dl = DataLoader(train_set, self.batch_size, shuffle=True)
        val_dl = DataLoader(val_set, self.batch_size)
        for epoch in range(self.epochs):
            self.model.train()
            for x, y in train_dl:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.model(x), y).backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                self.opt.step()
            self.model.eval()
            with torch.no_grad():
                print(epoch, torch.cat([self.model(x).argmax(1) == y for x, y in val_dl]).float().mean().item())


if __name__ == "__main__":
    x, y = torch.randn(3000, 40), torch.randint(0, 8, (3000,))
    net = nn.Sequential(nn.Linear(40, 128), nn.GELU(), nn.Linear(128, 8))
    loop = TrainLoop(net, OptimConfig(), epochs=10, batch_size=50, clip=1.0)
    loop.fit(TensorDataset(x[:2500], y[:2500]), TensorDataset(x[2500:], y[2500:]))
