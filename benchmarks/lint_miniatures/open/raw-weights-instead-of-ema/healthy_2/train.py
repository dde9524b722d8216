from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.995):
        self.model, self.decay = model, decay
        self.shadow = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self):
        for s, p in zip(self.shadow, self.model.parameters()):
            s.lerp_(p, 1 - self.decay)

    @contextmanager
    def averaged(self):
        backup = [p.detach().clone() for p in self.model.parameters()]
        self._load(self.shadow)
        try:
            yield self.model
        finally:
            self._load(backup)

    @torch.no_grad()
    def _load(self, values):
        for p, v in zip(self.model.parameters(), values):
            p.copy_(v)


x = torch.randn(1500, 6)
y = x.norm(dim=1, keepdim=True)
train_dl = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=24, shuffle=True)
val_dl = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100)
model = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 1))
opt, ema = torch.optim.Adam(model.parameters(), lr=1e-3), EMA(model)
for epoch in range(50):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
        ema.update()
    model.eval()
    with ema.averaged(), torch.no_grad():
        print(epoch, torch.stack([nn.functional.mse_loss(model(xb), yb) for xb, yb in val_dl]).mean().item())
        torch.save(model.state_dict(), "averaged.pt")
