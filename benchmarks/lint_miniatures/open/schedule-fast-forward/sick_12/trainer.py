import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, epochs, warmup=500, resume=None):
        self.model, self.loader, self.epochs = model, loader, epochs
        self.total, self.warmup = epochs * len(loader), warmup
        self.opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, self.factor) #@
        self.epoch = 0
        if resume:
            self.load(resume)

    def factor(self, step):
        if step < self.warmup:
            return step / self.warmup
        return 0.5 * (1 + math.cos(math.pi * (step - self.warmup) / (self.total - self.warmup)))

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.epoch = state["epoch"]
        self.sched.last_epoch = self.epoch #@

    def fit(self):
        self.model.train()
        for epoch in range(self.epoch, self.epochs):
            for x, y in self.loader:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.model(x), y).backward()
                self.opt.step()
                self.sched.step() #@
            state = {"model": self.model.state_dict(), "opt": self.opt.state_dict(), "epoch": epoch + 1}
            torch.save(state, "last.pt") #@


if __name__ == "__main__":
    import sys

    data = TensorDataset(torch.randn(6400, 16), torch.randn(6400, 1))
    loader = DataLoader(data, batch_size=64, shuffle=True)
    Trainer(nn.Linear(16, 1), loader, 60, resume=sys.argv[1] if len(sys.argv) > 1 else None).fit()
