"""Quantile forecasts of the electricity load, one day ahead.

see run.sh for how this is called
"""
import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader

from prep import COLUMNS, Windows, fit_stats, read_table, split_by_time, standardise

QUANTILES = (0.1, 0.5, 0.9)

parser = argparse.ArgumentParser()
parser.add_argument("--area", default="north")
parser.add_argument("--out", default="runs/north")
parser.add_argument("--history", type=int, default=48)
parser.add_argument("--horizon", type=int, default=24)
parser.add_argument("--val-days", type=int, default=14)
parser.add_argument("--test-days", type=int, default=14)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=128)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--weight-decay", type=float, default=1e-4)
parser.add_argument("--clip", type=float, default=1.0)
parser.add_argument("--patience", type=int, default=5)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--resume", default="")
args = parser.parse_args()

random.seed(args.seed)
np.random.seed(args.seed)
torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
use_amp = args.amp and device.type == "cuda"
os.makedirs(args.out, exist_ok=True)


class LoadNet(nn.Module):
    def __init__(self, n_in, history, horizon, width, dropout):
        super().__init__()
        self.horizon = horizon
        self.conv = nn.Sequential(
            nn.Conv1d(n_in, width, 5, padding=2), nn.BatchNorm1d(width), nn.GELU(),
            nn.Conv1d(width, width, 5, padding=2, stride=2), nn.BatchNorm1d(width), nn.GELU(),
        )
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(width * ((history + 1) // 2), horizon * len(QUANTILES))

    def forward(self, x):
        h = self.conv(x.transpose(1, 2)).flatten(1)
        return self.head(self.drop(h)).view(-1, self.horizon, len(QUANTILES))


def pinball(pred, target):
    pred, target = pred.float(), target.float().unsqueeze(-1)
    q = pred.new_tensor(QUANTILES)
    diff = target - pred
    return torch.maximum(q * diff, (q - 1) * diff).mean()


def loader_for(table, train):
    ds = Windows(table, args.history, args.horizon)
    return DataLoader(ds, batch_size=args.batch_size, shuffle=train, drop_last=train,
                      num_workers=args.workers, pin_memory=device.type == "cuda")


# ---------------------------------------------------------------- data
raw_train, raw_val, raw_test = split_by_time(read_table(args.area), args.val_days, args.test_days)
stats = fit_stats(raw_train)
train_loader = loader_for(standardise(raw_train, stats), train=True)
val_loader = loader_for(standardise(raw_val, stats), train=False)
test_loader = loader_for(standardise(raw_test, stats), train=False)
print(f"{len(train_loader.dataset)} training windows, {len(val_loader.dataset)} for validation")

# ---------------------------------------------------------------- model
model = LoadNet(len(COLUMNS), args.history, args.horizon, args.width, args.dropout).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader))
scaler = GradScaler(enabled=use_amp)


def snapshot(epoch, best, bad_epochs):
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "scaler": scaler.state_dict(),
        "epoch": epoch,
        "best": best,
        "bad_epochs": bad_epochs,
        "stats": stats,
        "rng": torch.get_rng_state(),
    }


def restore(path):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["rng"])
    return state["epoch"] + 1, state["best"], state["bad_epochs"]


def train_one_epoch():
    model.train()
    running, seen = torch.zeros((), device=device), 0
    for x, y in train_loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast(enabled=use_amp):
            pred = model(x)
        loss = pinball(pred, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        running += loss.detach() * len(x)
        seen += len(x)
    return (running / seen).item()


@torch.no_grad()
def score(loader):
    """pinball loss in units of one standard deviation, and the MAE of the median in MW"""
    model.eval()
    total, mae, n = 0.0, 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        pred = model(x).float()
        total += pinball(pred, y).item() * len(x)
        mae += (pred[..., 1] - y).abs().mean().item() * len(x) * stats["std"][0]
        n += len(x)
    return total / n, mae / n


# ---------------------------------------------------------------- training
first_epoch, best, bad_epochs = 0, float("inf"), 0
if args.resume:
    first_epoch, best, bad_epochs = restore(args.resume)
    print(f"resumed {args.resume} at epoch {first_epoch}")

for epoch in range(first_epoch, args.epochs):
    train_loss = train_one_epoch()
    val_loss, val_mae = score(val_loader)
    print(f"epoch {epoch:3d}  train {train_loss:.4f}  val {val_loss:.4f}  MAE {val_mae:.1f} MW  "
          f"lr {scheduler.get_last_lr()[0]:.2e}")
    if val_loss < best:
        best, bad_epochs = val_loss, 0
        torch.save({"model": model.state_dict(), "stats": stats, "epoch": epoch}, f"{args.out}/best.pt")
    else:
        bad_epochs += 1
    torch.save(snapshot(epoch, best, bad_epochs), f"{args.out}/last.pt")
    if bad_epochs >= args.patience:
        print("no better for", bad_epochs, "epochs, stopping")
        break

model.load_state_dict(torch.load(f"{args.out}/best.pt", map_location=device)["model"])
test_loss, test_mae = score(test_loader)
print(f"test {test_loss:.4f}  MAE {test_mae:.1f} MW")
