import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Denoise:
    def __init__(self, sigma_max=0.5, ramp=5000):
        self.sigma_max, self.ramp, self.step = sigma_max, ramp, 0
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def sigma(self):
        if not self.net.training:
            return self.sigma_max
        return self.sigma_max * min(1.0, self.step / self.ramp)

    def loss(self, x):
        return nn.functional.mse_loss(self.net(x + self.sigma() * torch.randn_like(x)), x)

    def train_epoch(self, loader):
        self.net.train()
        for (x,) in loader:
            self.opt.zero_grad()
            self.loss(x).backward()
            self.opt.step()
            self.step += 1

    @torch.no_grad()
    def validate(self, loader):
        self.net.eval()
        return torch.stack([self.loss(x) for (x,) in loader]).mean().item()


data = torch.randn(20000, 64)
train = DataLoader(TensorDataset(data[:19000]), batch_size=64, shuffle=True)
val = DataLoader(TensorDataset(data[19000:]), batch_size=100)
task = Denoise()
for epoch in range(40):
    task.train_epoch(train)
    print(epoch, task.validate(val))
