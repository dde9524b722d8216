import argparse
import os

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import get_cosine_schedule_with_warmup


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--resume-from", default=None)
    return p.parse_args()


def main():
    args = parse()
    accelerator = Accelerator()
    model = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 5))
    loader = DataLoader(TensorDataset(torch.randn(8000, 48), torch.randint(0, 5, (8000,))), 40, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    first_epoch = 0
    if args.resume_from:
        accelerator.load_state(args.resume_from)
        first_epoch = int(os.path.basename(args.resume_from).split("_")[-1]) + 1
    remaining = (args.epochs - first_epoch) * len(loader) #@
    for group in optimizer.param_groups: #@
        group["lr"] = group["initial_lr"] = 5e-4 #@
    scheduler = get_cosine_schedule_with_warmup(optimizer, 200, remaining) #@
    model.train()
    for epoch in range(first_epoch, args.epochs):
        for x, y in loader:
            accelerator.backward(nn.functional.cross_entropy(model(x), y))
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        accelerator.save_state(f"ckpt/epoch_{epoch}") #@


if __name__ == "__main__":
    main()
