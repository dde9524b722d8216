import json
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEFAULTS = {"lr": 1e-3, "batch_size": 128, "epochs": 50, "hidden": 256} #@


def load_config(path):
    with open(path) as f:
        user = json.load(f)
    config = dict(user)
    config.update(DEFAULTS) #@
    return config


def train(config):
    model = nn.Sequential(nn.Linear(20, config["hidden"]), nn.ReLU(), nn.Linear(config["hidden"], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    x = torch.randn(6000, 20)
    dataset = TensorDataset(x, x.abs().sum(1, keepdim=True))
    loader = DataLoader(dataset, batch_size=config["batch_size"], shuffle=True)
    model.train()
    for epoch in range(config["epochs"]):
        for xb, yb in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(xb), yb).backward()
            optimizer.step()
    return model


if __name__ == "__main__":
    net = train(load_config(sys.argv[1])) #@
    torch.save(net.state_dict(), "net.pt")
