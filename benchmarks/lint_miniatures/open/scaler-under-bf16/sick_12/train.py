import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_amp(args):
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(args.amp_dtype) #@
    enabled = dtype is not None
    scaler = torch.amp.GradScaler("cuda", enabled=enabled) #@
    return lambda: torch.autocast("cuda", dtype=dtype, enabled=enabled), scaler


def train_epoch(model, loader, optimizer, autocast, scaler):
    model.train()
    for x, y in loader:
        with autocast():
            loss = nn.functional.l1_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward() #@
        scaler.step(optimizer)
        scaler.update()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--amp-dtype", choices=["none", "fp16", "bf16"], default="bf16") #@
    p.add_argument("--epochs", type=int, default=20)
    args = p.parse_args()
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    autocast, scaler = get_amp(args) #@
    x = torch.randn(5000, 30)
    loader = DataLoader(TensorDataset(x, x.norm(dim=1, keepdim=True)), batch_size=50, shuffle=True)
    for _ in range(args.epochs):
        train_epoch(model, loader, optimizer, autocast, scaler)


if __name__ == "__main__":
    main()
