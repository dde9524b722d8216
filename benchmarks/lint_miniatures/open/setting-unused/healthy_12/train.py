from types import SimpleNamespace

import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Runner:
    def __init__(self, cfg):
        self.__dict__.update(vars(cfg))
        self.net = nn.Sequential(nn.Linear(10, 50), nn.Tanh(), nn.Linear(50, 1))
        self.opt = torch.optim.AdamW(self.net.parameters(), **self.optimizer)

    def run(self, dataset):
        loader = DataLoader(dataset, self.batch_size, shuffle=True)
        self.net.train()
        for _ in range(self.epochs):
            for x, y in loader:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.net(x), y).backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
                self.opt.step()


with open("config.yaml") as f:
    runner = Runner(SimpleNamespace(**yaml.safe_load(f)))
x = torch.randn(2000, 10)
runner.run(TensorDataset(x, x.prod(1, keepdim=True)))
