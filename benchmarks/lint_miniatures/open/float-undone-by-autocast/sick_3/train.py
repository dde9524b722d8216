import argparse

import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from heads import FP32Wrapper


def build(classes):
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
    return nn.Sequential(backbone, FP32Wrapper(nn.Linear(256, classes))) #@


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    accelerator = Accelerator(mixed_precision="fp16") #@
    model = build(args.classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    data = TensorDataset(torch.rand(6000, 28, 28), torch.randint(0, args.classes, (6000,)))
    loader = DataLoader(data, batch_size=128, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
