import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EmaLoss(nn.Module):
    def __init__(self, momentum=0.98):
        super().__init__()
        self.momentum = momentum
        self.running = None

    def forward(self, pred, target):
        loss = nn.functional.huber_loss(pred, target)
        if self.running is None:
            self.running = loss #@
        else:
            self.running = self.momentum * self.running + (1 - self.momentum) * loss #@
        return loss


def main():
    loader = DataLoader(TensorDataset(torch.randn(2400, 11), torch.randn(2400, 1)), batch_size=24, shuffle=True)
    model = nn.Sequential(nn.Linear(11, 55), nn.ReLU(), nn.Linear(55, 1))
    criterion = EmaLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, criterion.running.item())


if __name__ == "__main__":
    main()
