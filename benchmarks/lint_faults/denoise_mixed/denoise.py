#!/usr/bin/env python
"""Blind denoising of colour and grey photographs with one network.

Colour and grey pictures are batched apart; the first layer has one filter bank for each.
"""
import json
import os
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Sampler

HERE = os.path.dirname(os.path.abspath(__file__))


class Pictures(Dataset):
    def __init__(self, n, channels, sigma, seed):
        self.n, self.channels, self.sigma, self.seed = n, channels, sigma, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seed + i)
        small = torch.from_numpy(rng.random((1, self.channels, 5, 5)).astype("float32"))
        clean = F.interpolate(small, size=(24, 24), mode="bilinear", align_corners=True)[0]
        noisy = clean + self.sigma * torch.from_numpy(rng.normal(size=clean.shape).astype("float32"))
        return noisy, clean


class SameKindBatches(Sampler):
    """Random batches that never mix the parts of a ConcatDataset."""

    def __init__(self, dataset, batch_size):
        self.bounds, self.batch_size = [0, *dataset.cumulative_sizes], batch_size

    def __iter__(self):
        batches = []
        for start, end in zip(self.bounds, self.bounds[1:]):
            order = start + torch.randperm(end - start)
            batches += [chunk.tolist() for chunk in order.split(self.batch_size)]
        for k in torch.randperm(len(batches)).tolist():
            yield batches[k]

    def __len__(self):
        return sum(-(-(e - s) // self.batch_size) for s, e in zip(self.bounds, self.bounds[1:]))


class ContrastLayer(nn.Module):
    """Local contrast normalisation with a learned gain."""

    def __init__(self, channels):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x):
        h = x.float()
        centre = h - F.avg_pool2d(h, 5, 1, 2)
        energy = F.avg_pool2d(centre * centre, 5, 1, 2)
        return (self.gain * centre / torch.sqrt(energy + 1e-6)).to(x.dtype)


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.entry = nn.ModuleDict({"1": nn.Conv2d(1, width, 3, padding=1), "3": nn.Conv2d(3, width, 3, padding=1)})
        self.contrast = ContrastLayer(width)
        self.mix = nn.Sequential(nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.05))
        self.attention = nn.Conv2d(width, width, 1)
        self.exit = nn.ModuleDict({"1": nn.Conv2d(width, 1, 3, padding=1), "3": nn.Conv2d(width, 3, 3, padding=1)})

    def forward(self, x):
        kind = str(x.shape[1])
        h = self.entry[kind](x)
        h = self.mix(torch.cat([h, self.contrast(h)], 1))
        scores = self.attention(h).flatten(2).float()
        weights = torch.softmax(scores, dim=-1)
        pooled = (weights * h.flatten(2).float()).sum(-1)
        h = h * torch.sigmoid(pooled)[:, :, None, None].to(h.dtype)
        return x - self.exit[kind](h)


def contrast(x):
    return (x - x.mean(dim=(2, 3), keepdim=True)).pow(2).mean(dim=(2, 3)).add(1e-8).sqrt()


def loss_function(restored, clean, weight):
    fidelity = F.mse_loss(restored, clean)
    return fidelity + weight * F.l1_loss(contrast(restored.float()), contrast(clean))


def train(model, loader, optimizer, scaler, cfg, device):
    model.train()
    sums, batches = torch.zeros((), device=device), 0
    half = cfg.precision == "fp16" and device.type == "cuda"
    for noisy, clean in loader:
        noisy, clean = noisy.to(device), clean.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16, enabled=half):
            restored = model(noisy)
            loss = loss_function(restored, clean, cfg.contrast_weight)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
        scaler.step(optimizer)
        scaler.update()
        sums += loss.detach()
        batches += 1
    return (sums / batches).item()


def psnr_of(restored, clean):
    restored, clean = restored.clamp(0, 1), clean.clamp(0, 1)
    mse = (restored - clean).pow(2).mean(dim=(1, 2, 3))
    return 10 * torch.log10(1.0 / mse)


def validate(model, loaders, device):
    model.eval()
    result = {}
    with torch.no_grad():
        for name, loader in loaders.items():
            scores = [psnr_of(model(noisy.to(device)), clean.to(device)) for noisy, clean in loader]
            result[name] = torch.cat(scores).mean().item()
    return result


def main():
    with open(os.path.join(HERE, "settings.json")) as handle:
        cfg = SimpleNamespace(**json.load(handle))
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = ConcatDataset([Pictures(24, 3, cfg.sigma, 0), Pictures(24, 1, cfg.sigma, 1000)])
    train_loader = DataLoader(train_set, batch_sampler=SameKindBatches(train_set, cfg.batch_size))
    val_loaders = {"colour": DataLoader(Pictures(6, 3, cfg.sigma, 7000), batch_size=2),
                   "grey": DataLoader(Pictures(6, 1, cfg.sigma, 8000), batch_size=2)}
    model = Denoiser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=2)
    scaler = torch.amp.GradScaler(device.type, enabled=cfg.precision == "fp16" and device.type == "cuda")
    os.makedirs(cfg.out, exist_ok=True)
    best = -float("inf")
    for epoch in range(cfg.epochs):
        loss = train(model, train_loader, optimizer, scaler, cfg, device)
        scores = validate(model, val_loaders, device)
        mean = sum(scores.values()) / len(scores)
        plateau.step(mean)
        print(f"epoch {epoch}: loss {loss:.5f} " + " ".join(f"{k} {v:.2f} dB" for k, v in scores.items()))
        if mean > best:
            best = mean
            torch.save({"model": model.state_dict(), "psnr": best}, os.path.join(cfg.out, "best.pt"))


if __name__ == "__main__":
    main()
