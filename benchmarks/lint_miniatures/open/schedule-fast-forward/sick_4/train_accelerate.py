import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import get_linear_schedule_with_warmup


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--resume_from", default=None)
    p.add_argument("--epochs", type=int, default=10)
    args = p.parse_args()
    accelerator = Accelerator()
    torch.manual_seed(0)
    x, y = torch.randn(6400, 40), torch.randint(0, 3, (6400,))
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 50, args.epochs * len(loader))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    starting_epoch = 0
    if args.resume_from:
        accelerator.load_state(args.resume_from)  #@
        starting_epoch = int(args.resume_from.rstrip("/").rsplit("_", 1)[1]) + 1
    model.train()
    for epoch in range(args.epochs):
        for xb, yb in loader:
            if epoch < starting_epoch:  #@
                scheduler.step()  #@
                continue
            accelerator.backward(F.cross_entropy(model(xb), yb))
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if epoch >= starting_epoch:
            accelerator.save_state(f"ckpt/epoch_{epoch}")


if __name__ == "__main__":
    main()
