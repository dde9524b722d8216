import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from amp import NativeScaler


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clip-value", type=float, default=0.1)
    ap.add_argument("--epochs", type=int, default=30)
    args = ap.parse_args()
    ds = TensorDataset(torch.rand(600, 1, 28, 28), torch.randint(0, 10, (600,)))
    loader = DataLoader(ds, batch_size=60, shuffle=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_scaler = NativeScaler()
    for epoch in range(args.epochs):
        model.train()
        for images, target in loader:
            images, target = images.cuda(), target.cuda()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(images), target)
            optimizer.zero_grad()
            loss_scaler(loss, optimizer, clip_value=args.clip_value, parameters=model.parameters()) #@
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
