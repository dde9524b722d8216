import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def step(model, batch, optimizer, accum=1): #@
    x, y = batch
    optimizer.zero_grad() #@
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward() #@
    optimizer.step() #@
    return loss.detach()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--accum", type=int, default=1) #@
    p.add_argument("--epochs", type=int, default=10)
    args = p.parse_args()
    loader = DataLoader(TensorDataset(torch.randn(640, 6), torch.randn(640, 1)), batch_size=args.batch, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        model.train()
        losses = [step(model, batch, optimizer, args.accum) for batch in loader] #@
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
