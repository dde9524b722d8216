import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def warmup_cosine(warmup, total):
    def f(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup))))
    return f


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=6e-4)
    args = ap.parse_args()
    tokens = torch.randint(0, 256, (4000, 65))
    loader = DataLoader(TensorDataset(tokens), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Embedding(256, 64), nn.Linear(64, 256))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    start_epoch = 0
    if args.resume:
        state = torch.load(args.resume, map_location="cpu")
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        start_epoch = state["epoch"] + 1
    total = args.epochs * len(loader)
    last = start_epoch - 1 if start_epoch else -1  #@
    sched = torch.optim.lr_scheduler.LambdaLR(opt, warmup_cosine(200, total), last_epoch=last)  #@
    model.train()
    for epoch in range(start_epoch, args.epochs):
        for (t,) in loader:
            loss = nn.functional.cross_entropy(model(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()  #@
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, f"ckpt_{epoch}.pt")


if __name__ == "__main__":
    main()
