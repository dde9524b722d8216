from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@contextmanager
def inference(module):
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield module
    finally:
        module.train(was_training)


def validate(model, loader, criterion):
    total = torch.zeros(())
    with inference(model) as net:
        for xb, yb in loader:
            total += criterion(net(xb), yb) * len(xb)
    return total.item() / len(loader.dataset)


def main():
    x = torch.randn(1000, 8)
    y = x.sum(1, keepdim=True)
    train_dl = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)
    model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 1))
    criterion = nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    for epoch in range(10):
        for xb, yb in train_dl:
            opt.zero_grad()
            criterion(model(xb), yb).backward()
            opt.step()
        print(epoch, validate(model, val_dl, criterion))


if __name__ == "__main__":
    main()
