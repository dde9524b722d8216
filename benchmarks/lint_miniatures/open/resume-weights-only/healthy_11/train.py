import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = "checkpoint.pth"


class State:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 10))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=200)
        self.epoch = 0

    def state_dict(self):
        return {k: getattr(self, k).state_dict() for k in ("model", "optimizer", "scheduler")} | {"epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state.pop("epoch")
        for k, v in state.items():
            getattr(self, k).load_state_dict(v)


s = State()
if os.path.exists(CKPT):
    s.load_state_dict(torch.load(CKPT))
data = TensorDataset(torch.randn(8000, 100), torch.randint(0, 10, (8000,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
s.model.train()
while s.epoch < 200:
    for x, y in loader:
        s.optimizer.zero_grad()
        nn.functional.cross_entropy(s.model(x), y).backward()
        s.optimizer.step()
    s.scheduler.step()
    s.epoch += 1
    torch.save(s.state_dict(), CKPT)
