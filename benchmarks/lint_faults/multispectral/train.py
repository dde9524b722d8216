import argparse
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from bands import NUM_BANDS, Panchromatic, Tiles


class TwoStemNet(nn.Module):
    """One stem for each sensor, one trunk for both."""

    def __init__(self, width=16, classes=3):
        super().__init__()
        self.stems = nn.ModuleDict({
            "multi": nn.Conv2d(NUM_BANDS, width, 3, padding=1),
            "pan": nn.Conv2d(1, width, 3, padding=1),
        })
        self.trunk = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                   nn.Conv2d(width, classes, 1))

    def forward(self, tile, sensor):
        return self.trunk(self.stems[sensor](tile))


def round_robin(loaders):
    streams = {name: iter(loader) for name, loader in loaders.items()}
    for _ in range(min(len(loader) for loader in loaders.values())):
        for name, stream in streams.items():
            tile, cover = next(stream)
            yield name, tile, cover


def train_epoch(model, loaders, optimizer, scheduler, device):
    model.train()
    losses = []
    for sensor, tile, cover in round_robin(loaders):
        tile, cover = tile.to(device), cover.to(device)
        loss = nn.functional.cross_entropy(model(tile, sensor), cover)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    scheduler.step()
    return torch.stack(losses).mean().item()


@torch.no_grad()
def confusion(model, loader, sensor, device, classes=3):
    model.eval()
    matrix = torch.zeros(classes, classes, device=device)
    for tile, cover in loader:
        tile, cover = tile.to(device), cover.to(device)
        prediction = model(tile, sensor).argmax(1)
        matrix += torch.bincount(cover.flatten() * classes + prediction.flatten(), minlength=classes**2).view_as(matrix)
    return matrix


def mean_iou(matrix):
    overlap = matrix.diag()
    union = matrix.sum(0) + matrix.sum(1) - overlap
    return (overlap / union.clamp(min=1)).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--out", type=Path, default=Path("tiles_out"))
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaders = {
        "multi": DataLoader(Tiles(24, augment=True), batch_size=args.batch, shuffle=True),
        "pan": DataLoader(Panchromatic(24, seed=300), batch_size=args.batch, shuffle=True),
    }
    held_back = {
        "multi": DataLoader(Tiles(8, seed=5000), batch_size=args.batch),
        "pan": DataLoader(Panchromatic(8, seed=6000), batch_size=args.batch),
    }
    model = TwoStemNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    args.out.mkdir(exist_ok=True)
    best = 0.0
    for epoch in range(args.epochs):
        loss = train_epoch(model, loaders, optimizer, scheduler, device)
        ious = {name: mean_iou(confusion(model, loader, name, device)) for name, loader in held_back.items()}
        print(epoch, round(loss, 4), {k: round(v, 4) for k, v in ious.items()})
        if sum(ious.values()) > best:
            best = sum(ious.values())
            torch.save(model.state_dict(), args.out / "best.pt")


if __name__ == "__main__":
    main()
