"""Teach a network the direction of stripes: python train.py --out runs/stripes (see train.sh for the rest)"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import torch
from network import StripeNet
from stripes import CLASSES, draw
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

TRAIN_SEED, VAL_SEED = 1000, 2000
VAL_PICTURES = 512
COLUMNS = ("epoch", "lr", "train_loss", "train_acc", "val_loss", "val_acc")


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--note", default="", help="kept with the options")
    parser.add_argument("--samples", type=int, default=512, help="pictures to learn from")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--eps", type=float, default=1e-8, help="of AdamW")
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--smoothing", type=float, default=0.0, help="of the labels")
    parser.add_argument("--save-every", type=int, default=5, help="epochs between two checkpoints")
    return parser.parse_args()


def main() -> None:
    """Train for all epochs and hand over the weights."""
    args = options()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    (args.out / "checkpoints").mkdir(parents=True, exist_ok=True)
    (args.out / "args.json").write_text(json.dumps(vars(args), default=str, indent=2) + "\n")

    # Everybody has pictures of their own: a seed stands for another collection.
    train_set = TensorDataset(*draw(args.samples, TRAIN_SEED + args.seed))
    val_pictures, val_labels = draw(VAL_PICTURES, VAL_SEED)
    loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    model = StripeNet(args.width, CLASSES, args.dropout)
    criterion = nn.CrossEntropyLoss(label_smoothing=args.smoothing)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=args.lr, eps=args.eps, weight_decay=args.weight_decay
    )

    with (args.out / "log.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(COLUMNS)
        for epoch in range(1, args.epochs + 1):
            train_loss, train_acc = train_epoch(model, loader, criterion, optimizer)
            val_loss, val_acc = validate(model, val_pictures, val_labels)
            values = (args.lr, train_loss, train_acc, val_loss, val_acc)
            log.writerow((epoch, *(f"{value:.6g}" for value in values)))
            if epoch % args.save_every == 0:
                torch.save(model.state_dict(), args.out / "checkpoints" / f"checkpoint_{epoch:03d}.pt")
    torch.save(model.state_dict(), args.out / "model.pt")


def train_epoch(
    model: nn.Module,
    loader: DataLoader[tuple[Tensor, ...]],
    criterion: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> tuple[float, float]:
    """Go through the pictures once; the mean loss, and the share that was right."""
    model.train()
    total, right, seen = 0.0, 0, 0
    for pictures, labels in loader:
        optimizer.zero_grad()
        scores = model(pictures)
        loss = criterion(scores, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        right += int((scores.argmax(1) == labels).sum())
        seen += len(labels)
    return total / seen, right / seen


@torch.no_grad()
def validate(model: nn.Module, pictures: Tensor, labels: Tensor) -> tuple[float, float]:
    """The loss and the share that is right, on pictures that are not learned from."""
    model.eval()
    scores = model(pictures)
    loss = nn.functional.cross_entropy(scores, labels)
    return loss.item(), float((scores.argmax(1) == labels).float().mean())


if __name__ == "__main__":
    main()
