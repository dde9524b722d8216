import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CheckpointKeeper:
    def __init__(self, path):
        self.path, self.best = path, math.inf

    def update(self, value, state):
        if value < self.best:
            self.best = value
            torch.save(state, self.path)


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.criterion = nn.MSELoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.keeper = CheckpointKeeper("best.ckpt")
        self.history = []

    def _run(self, loader, train):
        self.model.train(train)
        total = torch.zeros(())
        with torch.set_grad_enabled(train):
            for x, y in loader:
                loss = self.criterion(self.model(x), y)
                if train:
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                total += loss.detach()
        return total.item() / len(loader)

    def fit(self, epochs):
        for _ in range(epochs):
            record = {"train": self._run(self.train_loader, True), "val": self._run(self.val_loader, False)}
            self.history.append(record)
            self.keeper.update(record["train"], self.model.state_dict())  #@
        self.model.load_state_dict(torch.load(self.keeper.path))  #@
        return self.model


if __name__ == "__main__":
    x = torch.randn(1000, 10)
    y = x.abs().sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(10, 50), nn.Tanh(), nn.Linear(50, 1))
    Trainer(net, DataLoader(TensorDataset(x[:800], y[:800]), 20, shuffle=True),
            DataLoader(TensorDataset(x[800:], y[800:]), 100)).fit(60)
