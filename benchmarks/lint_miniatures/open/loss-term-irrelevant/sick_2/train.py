import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, TensorDataset


def tv(x, _):
    return (x[..., 1:] - x[..., :-1]).abs().mean() + (x[..., 1:, :] - x[..., :-1, :]).abs().mean()


def cosine(x, y):
    return 1 - F.cosine_similarity(x.flatten(1), y.flatten(1)).mean()


TERMS = {"pixel": F.l1_loss, "cosine": cosine, "total_variation": tv} #@


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 3, 3, padding=1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg["optim"]["lr"])
        x = torch.rand(200, 3, 48, 48)
        self.loader = DataLoader(TensorDataset(x + 0.1 * torch.randn_like(x), x), batch_size=8, shuffle=True)

    def loss(self, pred, target):
        return sum(weight * TERMS[name](pred, target) for name, weight in self.cfg["losses"].items()) #@

    def run(self):
        for epoch in range(self.cfg["optim"]["epochs"]):
            for noisy, clean in self.loader:
                loss = self.loss(self.net(noisy), clean)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())


with open("config.yaml") as f:
    Trainer(yaml.safe_load(f)).run()
