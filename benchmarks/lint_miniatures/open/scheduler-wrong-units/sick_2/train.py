import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import get_linear_schedule_with_warmup


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=5e-5)
    p.add_argument("--warmup_ratio", type=float, default=0.1)
    return p.parse_args()


def main():
    args = parse_args()
    loader = DataLoader(TensorDataset(torch.randn(3200, 64), torch.randint(0, 2, (3200,))), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total_steps = len(loader) * args.epochs
    scheduler = get_linear_schedule_with_warmup( #@
        optimizer, int(args.warmup_ratio * total_steps), total_steps #@
    )
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        scheduler.step() #@
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
