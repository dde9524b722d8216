import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset


def make_scheduler(optimizer, warmup_epochs, epochs):
    warmup = LinearLR(optimizer, start_factor=0.01, total_iters=warmup_epochs)  #@
    cosine = CosineAnnealingLR(optimizer, T_max=epochs - warmup_epochs)  #@
    return SequentialLR(optimizer, [warmup, cosine], milestones=[warmup_epochs])  #@


def train_one_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        scheduler.step()  #@


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--warmup-epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 47)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    scheduler = make_scheduler(optimizer, args.warmup_epochs, args.epochs)  #@
    train = DataLoader(TensorDataset(*torch.load("emnist_train.pt")), 128, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("emnist_valid.pt")), 256)
    for epoch in range(args.epochs):
        train_one_epoch(model, train, optimizer, scheduler, device)
        print(epoch, evaluate(model, valid, device))


if __name__ == "__main__":
    main()
