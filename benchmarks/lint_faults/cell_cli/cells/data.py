"""Two-channel fluorescence tiles (nuclei, membrane) with instance-free foreground masks."""
from typing import Optional

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

N_CHANNELS = 2
FULL_SCALE = 4095.0  # 12 bit camera


class CellTiles(Dataset):
    def __init__(self, n: int, size: int, seed: int, crop: Optional[int] = None):
        self.n, self.size, self.seed, self.crop = n, size, seed, crop
        self.mean: Optional[torch.Tensor] = None
        self.std: Optional[torch.Tensor] = None

    def __len__(self) -> int:
        return self.n

    def raw(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        g = torch.Generator().manual_seed(self.seed * 100_003 + index)
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = torch.zeros(self.size, self.size)
        rim = torch.zeros(self.size, self.size)
        for _ in range(4):
            cy, cx = torch.randint(4, self.size - 4, (2,), generator=g).tolist()
            r = float(torch.randint(3, 8, (), generator=g))
            d = ((yy - cy) ** 2 + (xx - cx) ** 2).float().sqrt()
            mask = torch.maximum(mask, (d < r).float())
            rim = torch.maximum(rim, torch.exp(-((d - r) ** 2) / 2))
        stack = torch.stack([0.5 * mask, 0.3 * rim]) + 0.1
        stack = stack + 0.05 * torch.randn(stack.shape, generator=g)
        return (stack * FULL_SCALE).clamp(0, FULL_SCALE), mask[None]

    def use_stats(self, mean: torch.Tensor, std: torch.Tensor) -> "CellTiles":
        self.mean, self.std = mean, std
        return self

    def __getitem__(self, index: int):
        image, mask = self.raw(index)
        image = (image - self.mean) / self.std
        if self.crop is not None:
            top, left = torch.randint(0, self.size - self.crop + 1, (2,)).tolist()
            window = (..., slice(top, top + self.crop), slice(left, left + self.crop))
            image, mask = image[window], mask[window]
            if torch.rand(()) < 0.5:
                image, mask = image.flip(-1), mask.flip(-1)
        return image, mask


def channel_stats(tiles: CellTiles, at_most: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    pixels = torch.stack([tiles.raw(i)[0] for i in range(min(at_most, len(tiles)))])
    mean = pixels.mean(dim=(0, 2, 3)).view(-1, 1, 1)
    std = pixels.std(dim=(0, 2, 3)).view(-1, 1, 1)
    return mean, std


class CellDataModule(L.LightningDataModule):
    """Random crops for training, whole tiles for validation."""

    def __init__(self, n_train: int = 64, n_val: int = 16, tile: int = 50, crop: int = 32, batch_size: int = 8, workers: int = 0):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage: Optional[str] = None) -> None:
        hp = self.hparams
        self.train_set = CellTiles(hp.n_train, hp.tile, seed=1, crop=hp.crop)
        self.val_set = CellTiles(hp.n_val, hp.tile, seed=2)
        mean, std = channel_stats(self.train_set)
        self.train_set.use_stats(mean, std)
        self.val_set.use_stats(mean, std)

    def train_dataloader(self) -> DataLoader:
        return DataLoader(
            self.train_set, batch_size=self.hparams.batch_size, shuffle=True,
            num_workers=self.hparams.workers, drop_last=True,
        )

    def val_dataloader(self) -> DataLoader:
        return DataLoader(self.val_set, batch_size=self.hparams.batch_size, num_workers=self.hparams.workers)
