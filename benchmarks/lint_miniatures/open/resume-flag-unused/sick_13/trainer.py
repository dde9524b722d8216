import torch
from torch import nn


class Trainer:
    def __init__(self, model, loader, lr, epochs, resume_path=None): #@
        self.model = model
        self.loader = loader
        self.epochs = epochs
        self.resume_path = resume_path #@
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.start_epoch = 0

    def save(self, path, epoch):
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch}
        torch.save(state, path)

    def load(self, path): #@
        state = torch.load(path, map_location="cpu")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.start_epoch = state["epoch"] + 1

    def train(self): #@
        self.model.train()
        for epoch in range(self.start_epoch, self.epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(x), y).backward()
                self.optimizer.step()
            self.save("last.pt", epoch)
