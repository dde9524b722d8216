from contextlib import contextmanager

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@contextmanager
def evaluating(net):
    was_training = net.training
    net.train(False)
    try:
        with torch.no_grad():
            yield net
    finally:
        net.train(was_training)


def validate(net, loader):
    correct = 0
    with evaluating(net):
        for x, y in loader:
            correct += (net(x).argmax(1) == y).sum()
    return correct.item() / len(loader.dataset)


x, y = torch.randn(2000, 32), torch.randint(0, 5, (2000,))
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=200)
net = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5))
net.train()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(20):
    for xb, yb in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    print(epoch, validate(net, val_loader))
