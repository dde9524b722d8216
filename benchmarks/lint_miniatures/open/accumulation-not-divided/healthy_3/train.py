import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Criterion(nn.Module):
    def __init__(self, accum):
        super().__init__()
        self.weight = 1.0 / accum

    def forward(self, pred, target):
        return self.weight * nn.functional.mse_loss(pred, target)


def main(accum=5, epochs=10):
    ds = TensorDataset(torch.randn(1000, 8), torch.randn(1000, 1))
    loader = DataLoader(ds, batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    criterion = Criterion(accum)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss.backward()
            if (i + 1) % accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(epoch, loss.item() * accum)


if __name__ == "__main__":
    main()
