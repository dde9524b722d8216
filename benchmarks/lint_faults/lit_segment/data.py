import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset, random_split

CHANNEL_MEAN = torch.tensor([0.31, 0.29, 0.27]).view(3, 1, 1)
CHANNEL_STD = torch.tensor([0.22, 0.21, 0.2]).view(3, 1, 1)


class Blobs(Dataset):
    """Bright discs on a dark background, with their masks."""

    def __init__(self, n: int, size: int):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        ys, xs = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = torch.zeros(self.size, self.size)
        for _ in range(3):
            cy, cx, r = (torch.rand(3, generator=g) * torch.tensor([self.size, self.size, self.size / 4])).tolist()
            mask = torch.maximum(mask, ((ys - cy) ** 2 + (xs - cx) ** 2 < r * r).float())
        image = 0.2 + 0.5 * mask + 0.1 * torch.randn(3, self.size, self.size, generator=g)
        return image.clamp(0, 1), mask.unsqueeze(0)


class Normalized(Dataset):
    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, i):
        image, mask = self.inner[i]
        return (image - CHANNEL_MEAN) / CHANNEL_STD, mask


class BlobData(L.LightningDataModule):
    def __init__(self, n: int = 64, size: int = 32, batch_size: int = 8):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        full = Blobs(self.hparams.n, self.hparams.size)
        generator = torch.Generator().manual_seed(42)
        train, val = random_split(full, [0.75, 0.25], generator=generator)
        self.train_set = Normalized(train)
        self.val_set = Normalized(val)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.hparams.batch_size)
