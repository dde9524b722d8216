#!/usr/bin/env python
"""Three-state secondary structure from sequence.

    python train.py --epochs 40 --hidden 256 --out runs/ss3
    python train.py --epochs 80 --hidden 256 --out runs/ss3 --resume runs/ss3/last.pt
"""
import argparse
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from data import IGNORE, Chains, pad_chains
from models import SSNet


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--bs", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--layers", type=int, default=1)
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--smooth", type=float, default=0.05, help="label smoothing")
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--patience", type=int, default=3, help="epochs without gain before lr is halved")
    p.add_argument("--n-train", type=int, default=96)
    p.add_argument("--n-val", type=int, default=32)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--resume", default="", help="path of a last.pt")
    p.add_argument("--out", default="runs/ss3")
    return p.parse_args()


def build(args, device):
    net = SSNet(hidden=args.hidden, layers=args.layers, dropout=args.dropout)
    net.to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=args.wd)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=args.patience)
    start, best = 0, 0.0
    if args.resume:
        ck = torch.load(args.resume, map_location="cpu", weights_only=True)
        net.load_state_dict(ck["net"])
        opt.load_state_dict(ck["opt"])
        sched.load_state_dict(ck["sched"])
        torch.set_rng_state(ck["rng"])
        start, best = ck["epoch"] + 1, ck["best"]
        print(f"resumed from {args.resume} at epoch {start}, best Q3 {best:.4f}")
    return net, opt, sched, start, best


def train_one_epoch(net, loader, crit, opt, args, device):
    net.train()
    total = torch.zeros((), device=device)
    n = 0
    for x, y, lengths in loader:
        x, y = x.to(device), y.to(device)
        logits = net(x, lengths)
        loss = crit(logits.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), args.clip)
        opt.step()
        total += loss.detach() * len(x)
        n += len(x)
    return total.item() / n


def q3(net, loader, device):
    """Fraction of residues with the right state."""
    net.eval()
    hits = residues = 0
    with torch.no_grad():
        for x, y, lengths in loader:
            pred = net(x.to(device), lengths).argmax(-1).cpu()
            known = y != IGNORE
            hits += int((pred[known] == y[known]).sum())
            residues += int(known.sum())
    return hits / residues


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    os.makedirs(args.out, exist_ok=True)
    train_loader = DataLoader(Chains(args.n_train, seed=args.seed), batch_size=args.bs, shuffle=True, collate_fn=pad_chains)
    val_loader = DataLoader(Chains(args.n_val, seed=10_000), batch_size=32, collate_fn=pad_chains)
    crit = nn.CrossEntropyLoss(ignore_index=IGNORE, label_smoothing=args.smooth)
    net, opt, sched, start, best = build(args, device)

    for epoch in range(start, args.epochs):
        t0 = time.time()
        loss = train_one_epoch(net, train_loader, crit, opt, args, device)
        acc = q3(net, val_loader, device)
        sched.step(acc)
        print(f"[{epoch:03d}] loss {loss:.4f}  val Q3 {acc:.4f}  lr {opt.param_groups[0]['lr']:.1e}  {time.time() - t0:.1f}s")
        if acc > best:
            best = acc
            torch.save(net.state_dict(), os.path.join(args.out, "best.pt"))
        torch.save(
            {
                "net": net.state_dict(),
                "opt": opt.state_dict(),
                "sched": sched.state_dict(),
                "rng": torch.get_rng_state(),
                "epoch": epoch,
                "best": best,
            },
            os.path.join(args.out, "last.pt"),
        )


if __name__ == "__main__":
    main()
