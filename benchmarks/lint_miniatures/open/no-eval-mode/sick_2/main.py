import torch
from torch import nn
from torch.utils.data import DataLoader

from engine import evaluate, train_one_epoch


class Regressor(nn.Module):
    def __init__(self, dim=16, hidden=128, p=0.3):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.drop = nn.Dropout(p)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(self.drop(torch.relu(self.fc1(x)))).squeeze(-1)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(1200, 16)
    y = x.pow(2).mean(1)
    pairs = list(zip(x, y))
    train_dl = DataLoader(pairs[:1000], batch_size=32, shuffle=True)
    val_dl = DataLoader(pairs[1000:], batch_size=100)
    model = Regressor().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    best = float("inf")
    for epoch in range(20):
        train_one_epoch(model, train_dl, opt, device)
        val = evaluate(model, val_dl, device)
        if val < best:
            best = val
            torch.save(model.state_dict(), "best.pt")
        print(epoch, val)


if __name__ == "__main__":
    main()
