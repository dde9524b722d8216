"""Synthetic bursts: several noisy, slightly shifted views of one clean image in [0, 1]."""
import math

import torch
from torch.utils.data import DataLoader, Dataset

from config import Config


def clean_image(size: int, seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    planes = []
    for _ in range(3):
        fx, fy, phase = (torch.rand(3, generator=g) * torch.tensor([6.0, 6.0, 2 * math.pi])).tolist()
        planes.append(0.5 + 0.45 * torch.sin(fx * x * 2 * math.pi + fy * y * 2 * math.pi + phase))
    return torch.stack(planes)


class NoiseCurriculum:
    """Linear ramp of the noise level over the first epochs."""

    def __init__(self, start: float, end: float, epochs: int):
        self.start, self.end, self.epochs = start, end, epochs

    def sigma(self, epoch: int) -> float:
        t = min(1.0, epoch / max(1, self.epochs))
        return self.start + t * (self.end - self.start)


class BurstDataset(Dataset):
    def __init__(self, n: int, size: int, burst: int, sigma: float, first_seed: int, train: bool):
        self.n, self.size, self.burst = n, size, burst
        self.sigma = sigma
        self.first_seed = first_seed
        self.train = train

    def set_sigma(self, sigma: float) -> None:
        self.sigma = sigma

    def __len__(self) -> int:
        return self.n

    def _shots(self, clean: torch.Tensor, index: int, g: torch.Generator) -> list[torch.Tensor]:
        """Real bursts are sometimes shorter than requested."""
        available = self.burst - index % 2
        shots = []
        for k in range(available):
            shift = 0 if k == 0 else int(torch.randint(-1, 2, (), generator=g))
            moved = torch.roll(clean, shift, dims=-1)
            noise = torch.randn(clean.shape, generator=g) * self.sigma
            shots.append((moved + noise).clamp(0, 1))
        return shots

    def __getitem__(self, index: int):
        seed = self.first_seed + index
        clean = clean_image(self.size, seed)
        g = torch.Generator()
        g.manual_seed(int(torch.randint(2**31, ())) if self.train else seed)
        shots = self._shots(clean, index, g)
        present = torch.ones(self.burst)
        present[len(shots):] = 0
        while len(shots) < self.burst:
            shots.append(shots[0].clone())
        burst = torch.stack(shots)
        if self.train and torch.rand(()) < 0.5:
            burst, clean = burst.flip(-1), clean.flip(-1)
        return {"burst": burst, "present": present, "clean": clean}


def build_loaders(cfg: Config):
    train_set = BurstDataset(cfg.num_train, cfg.image_size, cfg.burst_size, cfg.sigma_start, 0, train=True)
    val_set = BurstDataset(cfg.num_val, cfg.image_size, cfg.burst_size, cfg.val_sigma, 10_000, train=False)
    train_loader = DataLoader(
        train_set, batch_size=cfg.batch_size, shuffle=True, drop_last=True, num_workers=cfg.num_workers
    )
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size, num_workers=cfg.num_workers)
    return train_loader, val_loader
