#!/usr/bin/env python
"""Customer churn from tabular data: entity embeddings + MLP, three classes (stay / downgrade / leave).

Usage:
    python train_churn.py --epochs 4 --lr 2e-3
    python train_churn.py --resume churn_last.pt
"""
import argparse
import copy
import json

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CARDINALITIES = [5, 12, 3]
N_NUMERIC = 6
CLASSES = ["stay", "downgrade", "leave"]


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=1200)
    p.add_argument("--val_fraction", type=float, default=0.2)
    p.add_argument("--batch_size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--weight_decay", type=float, default=1e-4)
    p.add_argument("--emb_dim", type=int, default=4)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--label_smoothing", type=float, default=0.05)
    p.add_argument("--patience", type=int, default=5)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--checkpoint", default="churn_last.pt")
    p.add_argument("--best", default="churn_best.pt")
    p.add_argument("--resume", default=None)
    return p.parse_args()


def synthesize(rows, seed):
    """Rows sorted by segment, as the export of the warehouse delivers them."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(rows, N_NUMERIC)) * np.array([1, 10, 0.1, 300, 5, 2]) + np.arange(N_NUMERIC)
    category = np.stack([rng.integers(0, c, rows) for c in CARDINALITIES], 1)
    score = numeric[:, 0] + 0.1 * numeric[:, 1] + 0.8 * (category[:, 0] == 2) + rng.normal(size=rows) * 0.3
    label = np.digitize(score, [-0.5, 1.2])
    order = np.lexsort((label, category[:, 1]))
    return numeric[order].astype("float32"), category[order], label[order]


class Standardizer:
    """Mean and deviation of the training rows, kept with the model."""

    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0) + 1e-6
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def to_dict(self):
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}


def prepare(args):
    numeric, category, label = synthesize(args.rows, args.seed)
    order = np.random.default_rng(args.seed + 1).permutation(len(label))
    n_val = int(args.val_fraction * len(label))
    val_idx, train_idx = order[:n_val], np.sort(order[n_val:])
    scaler = Standardizer().fit(numeric[train_idx])

    def dataset(idx):
        return TensorDataset(
            torch.from_numpy(scaler.transform(numeric[idx])).float(),
            torch.from_numpy(category[idx]).long(),
            torch.from_numpy(label[idx]).long(),
        )

    train_dl = DataLoader(dataset(train_idx), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_dl = DataLoader(dataset(val_idx), batch_size=256)
    counts = np.bincount(label[train_idx], minlength=len(CLASSES))
    weights = torch.tensor(counts.sum() / (len(CLASSES) * np.maximum(counts, 1)), dtype=torch.float32)
    return train_dl, val_dl, weights, scaler


class ChurnNet(nn.Module):
    def __init__(self, emb_dim, hidden, dropout):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(c, emb_dim) for c in CARDINALITIES])
        width = N_NUMERIC + emb_dim * len(CARDINALITIES)
        self.mlp = nn.Sequential(
            nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Dropout(dropout),
        )
        self.out = nn.Linear(hidden // 2, len(CLASSES))

    def forward(self, numeric, category):
        parts = [emb(category[:, i]) for i, emb in enumerate(self.embeddings)]
        return self.out(self.mlp(torch.cat([numeric, *parts], dim=1)))


def run_train_epoch(model, loader, criterion, optimizer, device):
    model.train()
    losses = []
    for numeric, category, y in loader:
        numeric, category, y = numeric.to(device), category.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(numeric, category), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


@torch.no_grad()
def run_eval(model, loader, device):
    model.eval()
    nll, hits, n = 0.0, 0, 0
    for numeric, category, y in loader:
        numeric, category, y = numeric.to(device), category.to(device), y.to(device)
        logits = model(numeric, category)
        nll += F.cross_entropy(logits, y, reduction="sum").item()
        hits += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return nll / n, hits / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_dl, val_dl, class_weights, scaler = prepare(args)

    model = ChurnNet(args.emb_dim, args.hidden, args.dropout).to(device)
    criterion = nn.CrossEntropyLoss(weight=class_weights.to(device), label_smoothing=args.label_smoothing)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)

    start_epoch, best_nll, bad_epochs = 0, float("inf"), 0
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start_epoch, best_nll, bad_epochs = ckpt["epoch"] + 1, ckpt["best_nll"], ckpt["bad_epochs"]

    history = []
    for epoch in range(start_epoch, args.epochs):
        train_loss = run_train_epoch(model, train_dl, criterion, optimizer, device)
        val_nll, val_acc = run_eval(model, val_dl, device)
        scheduler.step(val_nll)
        history.append({"epoch": epoch, "train": train_loss, "nll": val_nll, "acc": val_acc})
        print(f"epoch {epoch:2d}  train {train_loss:.4f}  val nll {val_nll:.4f}  acc {val_acc:.3f}")
        if val_nll < best_nll:
            best_nll, bad_epochs = val_nll, 0
            best_state = copy.deepcopy(model.state_dict())
            torch.save({"model": best_state, "scaler": scaler.to_dict()}, args.best)
        else:
            bad_epochs += 1
        torch.save(
            {
                "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "epoch": epoch,
                "best_nll": best_nll, "bad_epochs": bad_epochs,
            },
            args.checkpoint,
        )
        if bad_epochs >= args.patience:
            print("early stop")
            break
    with open("churn_history.json", "w") as f:
        json.dump(history, f, indent=2)


if __name__ == "__main__":
    main()
