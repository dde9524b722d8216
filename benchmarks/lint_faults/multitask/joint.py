"""Depth, normals and labels from one backbone."""
import argparse
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

WEIGHTS = {"depth": 1.0, "normal": 0.5, "label": 1.0}


class Rooms(Dataset):
    def __init__(self, n, size=16, seed=0):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        coarse = torch.rand(1, 1, 4, 4, generator=g)
        depth = F.interpolate(coarse, size=(self.size, self.size), mode="bilinear", align_corners=True)[0]
        dy = torch.diff(depth, dim=1, append=depth[:, -1:]) * 10
        dx = torch.diff(depth, dim=2, append=depth[:, :, -1:]) * 10
        normal = F.normalize(torch.cat([-dx, -dy, torch.ones_like(dx)]), dim=0)
        valid = torch.rand(1, self.size, self.size, generator=g) > 0.2
        label = (depth[0] * 4).long().clamp(max=3)
        image = torch.cat([depth, normal[:2]]) + 0.05 * torch.randn(3, self.size, self.size, generator=g)
        return {"image": image, "depth": depth, "normal": normal, "label": label, "valid": valid}


class Heads(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.GroupNorm(4, ch), nn.ReLU(),
                                      nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.1))
        self.heads = nn.ModuleDict({"depth": nn.Conv2d(ch, 1, 1), "normal": nn.Conv2d(ch, 3, 1),
                                    "label": nn.Conv2d(ch, 4, 1)})

    def forward(self, x):
        z = self.backbone(x)
        return {name: head(z) for name, head in self.heads.items()}


class Uncertainty(nn.Module):
    """A learned weight for each task."""

    def __init__(self, tasks):
        super().__init__()
        self.log_var = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})

    def forward(self, losses):
        return {t: torch.exp(-self.log_var[t]) * v + self.log_var[t] for t, v in losses.items()}


def task_losses(out, batch):
    valid = batch["valid"]
    cosine = F.cosine_similarity(out["normal"], batch["normal"], dim=1)
    return {
        "depth": (out["depth"] - batch["depth"]).abs()[valid].mean(),
        "normal": (1 - cosine).mean(),
        "label": F.cross_entropy(out["label"], batch["label"]),
    }


def to(batch, device):
    return {k: v.to(device, non_blocking=True) for k, v in batch.items()}


def evaluate(model, loader, device):
    model.eval()
    sums = {}
    with torch.no_grad():
        for batch in loader:
            for name, value in task_losses(model(to(batch, device)["image"]), to(batch, device)).items():
                sums[name] = sums.get(name, 0.0) + value
    model.train()
    return {k: (v / len(loader)).item() for k, v in sums.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--bs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--out", default="joint_out")
    cfg = ap.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Heads().to(device)
    balance = Uncertainty(WEIGHTS).to(device)
    optim = torch.optim.Adam([*model.parameters(), *balance.parameters()], lr=cfg.lr)
    train_loader = DataLoader(Rooms(32), batch_size=cfg.bs, shuffle=True)
    val_loader = DataLoader(Rooms(8, seed=900), batch_size=cfg.bs)
    os.makedirs(cfg.out, exist_ok=True)
    best = float("inf")
    meters = {k: [] for k in WEIGHTS}
    for epoch in range(cfg.epochs):
        for i, batch in enumerate(train_loader):
            batch = to(batch, device)
            raw = task_losses(model(batch["image"]), batch)
            weighted = balance(raw)
            total = sum(WEIGHTS[k] * v for k, v in weighted.items())
            optim.zero_grad()
            total.backward()
            optim.step()
            for k, v in raw.items():
                meters[k].append(v.detach())
            if i % 4 == 0:
                print(epoch, i, {k: round(torch.stack(m).mean().item(), 4) for k, m in meters.items()})
        scores = evaluate(model, val_loader, device)
        print("val", scores)
        if sum(scores.values()) < best:
            best = sum(scores.values())
            torch.save(model.state_dict(), os.path.join(cfg.out, "best.pt"))


if __name__ == "__main__":
    main()
