import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(batch_size):
    x = torch.rand(4000, 10)
    y = x.sum(dim=1, keepdim=True) ** 2
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    optimizer.zero_grad() #@
    total = torch.zeros((), device=device)
    for x, y in loader: #@
        x = x.to(device)
        y = y.to(device)
        loss = criterion(model(x), y)
        loss.backward() #@
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step() #@
        total += loss.detach()
    return (total / len(loader)).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--batch-size", type=int, default=128)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = make_loader(args.batch_size)
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, loader, nn.MSELoss(), optimizer, device)
        print(epoch, loss)


if __name__ == "__main__":
    main()
