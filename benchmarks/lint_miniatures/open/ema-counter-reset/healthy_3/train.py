import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConstantEMA:
    def __init__(self, model, decay=0.995):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    def update(self, model):
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - self.decay)


x, y = torch.randn(2000, 16), torch.randint(0, 4, (2000,))
train_dl = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=200)
model, averaged = nn.Linear(16, 4), nn.Linear(16, 4)
ema, opt, first = ConstantEMA(model), torch.optim.SGD(model.parameters(), lr=0.05), 0
if os.path.exists("last.pt"):
    state = torch.load("last.pt", map_location="cpu")
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    ema.shadow = state["ema"]
    first = state["epoch"] + 1
for epoch in range(first, 60):
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
        ema.update(model)
    averaged.load_state_dict(ema.shadow)
    averaged.eval()
    with torch.no_grad():
        print(epoch, torch.cat([averaged(a).argmax(1) == b for a, b in val_dl]).float().mean().item())
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "ema": ema.shadow, "epoch": epoch}, "last.pt")
