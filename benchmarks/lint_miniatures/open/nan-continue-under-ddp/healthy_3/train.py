import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FiniteBatches:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for x, y in self.loader:
            if torch.isnan(x).any():
                continue
            yield x, y


def main():
    x = torch.randn(1000, 6)
    x[::97, 0] = float("nan")
    loader = DataLoader(TensorDataset(x, torch.randn(1000, 1)), batch_size=4, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 18), nn.ReLU(), nn.Linear(18, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for xb, yb in FiniteBatches(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
