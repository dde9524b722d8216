import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MixtureOfExperts(nn.Module):
    def __init__(self, dim=30, experts=6, width=64, classes=8):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.experts = [  #@
            nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, classes))
            for _ in range(experts)
        ]

    def forward(self, x):
        gate = self.router(x).softmax(-1)
        out = torch.stack([e(x) for e in self.experts], dim=1)  #@
        return (gate.unsqueeze(-1) * out).sum(1)


def epoch_pass(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main():
    torch.manual_seed(0)
    model = MixtureOfExperts()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  #@
    train = DataLoader(TensorDataset(*torch.load("tab_train.pt")), 128, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("tab_valid.pt")), 512)
    for epoch in range(40):
        epoch_pass(model, train, optimizer)
        print(epoch, accuracy(model, valid))


if __name__ == "__main__":
    main()
