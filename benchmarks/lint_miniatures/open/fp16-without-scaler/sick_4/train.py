import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--dtype", choices=DTYPES, default="fp16") #@
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--grad-clip", type=float, default=1.0)
    return p.parse_args()


def train_one_epoch(model, loader, optimizer, args):
    ctx = torch.autocast("cuda", dtype=DTYPES[args.dtype], enabled=args.dtype != "fp32") #@
    running = torch.zeros((), device="cuda")
    for tokens, targets in loader:
        tokens, targets = tokens.cuda(), targets.cuda()
        with ctx: #@
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward() #@
        nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step() #@
        running += loss.detach()
    return running / len(loader)


def main():
    args = parse_args()
    model = nn.Sequential(nn.Embedding(500, 128), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 500)).cuda()
    ids = torch.randint(0, 500, (2000, 65))
    loader = DataLoader(TensorDataset(ids[:, :-1], ids[:, 1:]), batch_size=32, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        print(epoch, train_one_epoch(model, loader, optimizer, args).item())


if __name__ == "__main__":
    main()
