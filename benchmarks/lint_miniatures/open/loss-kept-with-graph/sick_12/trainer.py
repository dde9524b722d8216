from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class History:
    def __init__(self):
        self.values = defaultdict(list)

    def add(self, **metrics):
        for name, value in metrics.items():
            self.values[name].append(value) #@

    def mean(self, name):
        return torch.stack(self.values[name]).mean().item()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.history = History()

    def step(self, x, y):
        pred = self.model(x)
        loss = nn.functional.huber_loss(pred, y)
        mae = nn.functional.l1_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.add(loss=loss, mae=mae) #@

    def fit(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            for x, y in loader:
                self.step(x, y)
            print(epoch, self.history.mean("loss"), self.history.mean("mae"))


x = torch.randn(5000, 12)
loader = DataLoader(TensorDataset(x, x.exp().mean(1, keepdim=True)), batch_size=25, shuffle=True)
Trainer(nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))).fit(loader, 50)
