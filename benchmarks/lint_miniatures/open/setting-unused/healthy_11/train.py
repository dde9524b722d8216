import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_optimizer(params, name, **kwargs):
    return getattr(torch.optim, name)(params, **kwargs)


def main(epochs, batch_size, seed, **optim_kwargs):
    torch.manual_seed(seed)
    data = TensorDataset(torch.randn(5000, 40), torch.randint(0, 8, (5000,)))
    loader = DataLoader(data, batch_size=batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 8))
    optimizer = make_optimizer(model.parameters(), **optim_kwargs)
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", default="AdamW")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    main(**vars(parser.parse_args()))
