import argparse

import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model(num_classes):
    model = torchvision.models.mobilenet_v2(weights="IMAGENET1K_V1")
    model.classifier[1] = nn.Linear(model.last_channel, num_classes)
    model.eval()  #@
    return model


def accuracy(model, loader, device):
    model.eval()  #@
    hits = torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x.to(device)).argmax(1) == y.to(device)).sum()
    return hits.item() / len(loader.dataset)


def train_epoch(model, loader, opt, criterion, device):  #@
    for x, y in loader:  #@
        opt.zero_grad()
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        opt.step()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--classes", type=int, default=10)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=1e-4)
    args = ap.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = torch.randn(500, 3, 96, 96), torch.randint(0, args.classes, (500,))
    train_dl = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
    model = build_model(args.classes).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        train_epoch(model, train_dl, opt, criterion, device)  #@
        print(epoch, accuracy(model, val_dl, device))


if __name__ == "__main__":
    main()
