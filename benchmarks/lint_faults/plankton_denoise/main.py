import sys

import torch
import yaml
from torch import nn

from data import make_loaders
from hooks import Average, Ramp, Score, restore
from objective import Objective


class NoiseNet(nn.Sequential):
    def __init__(self, width):
        super().__init__(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 3, 3, padding=1),
        )


class Run:
    def __init__(self, net, objective, optimizer, hooks):
        self.net, self.objective, self.optimizer, self.hooks = net, objective, optimizer, hooks
        self.epoch, self.mean_loss = 0, 0.0

    def emit(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self)

    def step(self, noisy, clean):
        loss, _ = self.objective(restore(self.net, noisy), clean)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.emit("on_step")
        return loss.detach()

    def fit(self, loader, epochs):
        self.net.train()
        for self.epoch in range(epochs):
            losses = [self.step(noisy, clean) for noisy, clean in loader]
            self.mean_loss = torch.stack(losses).mean().item()
            self.emit("on_epoch")


def main(path="conf.yaml"):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    torch.manual_seed(cfg["seed"])
    train, val, ramp, norm = make_loaders(cfg)
    net = NoiseNet(cfg["model"]["width"])
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg["optim"]["lr"])
    average = Average(net, cfg["optim"]["ema"])
    hooks = [average, Ramp(ramp), Score(val, norm, average, cfg["out"])]
    Run(net, Objective(cfg["loss"]), optimizer, hooks).fit(train, cfg["optim"]["epochs"])


if __name__ == "__main__":
    main(*sys.argv[1:])
