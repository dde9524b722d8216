import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BestKeeper:
    def __init__(self):
        self.score, self.weights = None, None

    def update(self, score, model): #@
        if self.score is None or score < self.score: #@
            self.score = score
            self.weights = copy.deepcopy(model.state_dict()) #@


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
        self.keeper = BestKeeper()

    def run_epoch(self, loader, train):
        self.model.train(train)
        losses = []
        with torch.set_grad_enabled(train):
            for x, y in loader:
                loss = nn.functional.l1_loss(self.model(x), y)
                if train:
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                losses.append(loss.detach())
        return torch.stack(losses).mean().item()

    def fit(self, loaders, epochs):
        for epoch in range(epochs):
            stats = {phase: self.run_epoch(loaders[phase], phase == "train") for phase in ("train", "val")}
            self.keeper.update(stats["train"], self.model) #@
            print(epoch, stats)
        self.model.load_state_dict(self.keeper.weights) #@
        return self.model


x, y = torch.randn(1000, 8), torch.randn(1000, 1)
loaders = {
    "train": DataLoader(TensorDataset(x[:800], y[:800]), batch_size=20, shuffle=True),
    "val": DataLoader(TensorDataset(x[800:], y[800:]), batch_size=50),
}
best = Trainer(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))).fit(loaders, 40)
torch.save(best.state_dict(), "model.pt")
