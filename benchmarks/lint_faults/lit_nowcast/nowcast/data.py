import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

LOG_MEAN, LOG_STD = 0.35, 0.55


def encode(rain):
    """mm/h to standardised log rain rate."""
    return (torch.log1p(rain) - LOG_MEAN) / LOG_STD


def decode(x):
    return torch.expm1(x * LOG_STD + LOG_MEAN).clamp(min=0)


class RadarCells(Dataset):
    """Gaussian rain cells that drift over a grid of 64 x 64 km."""

    def __init__(self, n, frames, crop=None, seed=0, grid=64):
        self.n, self.frames, self.crop, self.seed, self.grid = n, frames, crop, seed, grid

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 7919 + i)
        yy, xx = torch.meshgrid(torch.arange(self.grid), torch.arange(self.grid), indexing="ij")
        seq = torch.zeros(self.frames + 1, self.grid, self.grid)
        for _ in range(4):
            cy, cx = (torch.rand(2, generator=g) * self.grid).tolist()
            vy, vx = (torch.randn(2, generator=g) * 1.5).tolist()
            peak, size = 2 + 10 * torch.rand((), generator=g).item(), 3 + 5 * torch.rand((), generator=g).item()
            for t in range(self.frames + 1):
                d2 = (yy - cy - vy * t) ** 2 + (xx - cx - vx * t) ** 2
                seq[t] += peak * torch.exp(-d2 / (2 * size**2))
        if self.crop:
            top, left = (int(torch.randint(0, self.grid - self.crop + 1, ())) for _ in range(2))
            seq = seq[:, top : top + self.crop, left : left + self.crop]
        return encode(seq[:-1]), encode(seq[-1:])


class RadarModule(L.LightningDataModule):
    def __init__(self, frames_in, crop, batch_size, train_size):
        super().__init__()
        self.frames_in, self.crop, self.batch_size, self.train_size = frames_in, crop, batch_size, train_size

    def setup(self, stage=None):
        self.train_set = RadarCells(self.train_size, self.frames_in, self.crop, seed=1)
        self.val_set = RadarCells(16, self.frames_in, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size)
