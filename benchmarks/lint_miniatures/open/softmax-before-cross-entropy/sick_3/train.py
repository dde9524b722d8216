from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"softmax": lambda: nn.Softmax(dim=-1), "sigmoid": nn.Sigmoid, "none": nn.Identity}


@dataclass
class Config:
    hidden: int = 128
    classes: int = 8
    out_activation: str = "softmax" #@
    lr: float = 1e-3
    epochs: int = 15


def build_mlp(cfg, in_features):
    return nn.Sequential(
        nn.Linear(in_features, cfg.hidden),
        nn.ReLU(),
        nn.Linear(cfg.hidden, cfg.classes),
        ACTIVATIONS[cfg.out_activation](), #@
    )


def train(cfg):
    model = build_mlp(cfg, 24) #@
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05) #@
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    loader = DataLoader(TensorDataset(torch.randn(3000, 24), torch.randint(0, cfg.classes, (3000,))), 64, shuffle=True)
    for epoch in range(cfg.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y) #@
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


train(Config())
