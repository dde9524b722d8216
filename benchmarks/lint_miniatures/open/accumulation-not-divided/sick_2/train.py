import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_batch(it, loader):
    try:
        return next(it), it
    except StopIteration:
        it = iter(loader)
        return next(it), it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--grad_accum", type=int, default=4) #@
    parser.add_argument("--max_iters", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=6e-4)
    args = parser.parse_args()
    data = torch.randint(0, 50, (2000, 33))
    loader = DataLoader(TensorDataset(data[:, :-1], data[:, 1:]), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Embedding(50, 64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 50))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    it = iter(loader)
    model.train()
    for step in range(args.max_iters):
        optimizer.zero_grad(set_to_none=True)
        for micro_step in range(args.grad_accum): #@
            (x, y), it = get_batch(it, loader)
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()) #@
            loss.backward() #@
        optimizer.step()
        if step % 100 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
