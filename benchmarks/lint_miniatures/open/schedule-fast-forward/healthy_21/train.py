import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LinearLR
from torch.utils.data import DataLoader, TensorDataset


class Session:
    def __init__(self, epochs, path, device):
        self.epochs, self.path, self.device = epochs, path, device
        self.train = DataLoader(TensorDataset(*torch.load("bids_train.pt")), 256, shuffle=True)
        self.valid = DataLoader(TensorDataset(*torch.load("bids_valid.pt")), 1024)
        self.model = nn.Sequential(nn.Linear(52, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.scheduler = LinearLR(self.optimizer, 1.0, 0.01, total_iters=epochs * len(self.train))
        self.epoch = self.step = 0

    def maybe_resume(self):
        if not os.path.exists(self.path):
            return
        state = torch.load(self.path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch, self.step = state["epoch"], state["step"]
        assert self.scheduler.last_epoch == self.step

    def save(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "epoch": self.epoch,
                    "step": self.step}, self.path)

    def loss(self, x, y):
        logits = self.model(x.to(self.device)).squeeze(1)
        return F.binary_cross_entropy_with_logits(logits, y.float().to(self.device))

    def run(self):
        for self.epoch in range(self.epoch, self.epochs):
            self.model.train()
            for x, y in self.train:
                self.optimizer.zero_grad()
                self.loss(x, y).backward()
                self.optimizer.step()
                self.scheduler.step()
                self.step += 1
            self.model.eval()
            with torch.no_grad():
                score = torch.stack([self.loss(x, y) for x, y in self.valid]).mean().item()
            print(self.epoch, self.step, score)
            self.epoch += 1
            self.save()


if __name__ == "__main__":
    torch.manual_seed(0)
    session = Session(30, "bids_last.pt", "cuda" if torch.cuda.is_available() else "cpu")
    session.maybe_resume()
    session.run()
