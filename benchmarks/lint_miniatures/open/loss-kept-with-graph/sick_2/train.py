import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum = self.sum + val * n #@
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def train_epoch(model, loader, optimizer):
    meter = AverageMeter()
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss, x.size(0)) #@
    return float(meter.avg)


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(torch.randn(3000, 8), torch.randn(3000, 1)), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    history = [train_epoch(model, loader, optimizer) for _ in range(20)]
    plt.plot(history)
    plt.savefig("loss.png")
