import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Augment:
    def __init__(self, gain_db, noise):
        self.gain_db = gain_db
        self.noise = noise

    def __call__(self, wave):
        db = (2 * torch.rand(()) - 1) * self.gain_db
        wave = wave * 10 ** (db / 20)
        return wave + self.noise * torch.randn_like(wave)


class Chorus(Dataset):
    """Clips with the calls of up to three species at once."""

    def __init__(self, first, count, hp, augment=None):
        self.first, self.count, self.hp, self.augment = first, count, hp, augment

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)
        n = int(self.hp["sample_rate"] * self.hp["clip_seconds"])
        t = torch.arange(n) / self.hp["sample_rate"]
        present = torch.randperm(self.hp["species"], generator=g)[: int(torch.randint(0, 4, (), generator=g))]
        labels = torch.zeros(self.hp["species"])
        labels[present] = 1.0
        wave = 0.01 * torch.randn(n, generator=g)
        for s in present.tolist():
            phase = 6.28 * torch.rand((), generator=g)
            wave = wave + 0.3 * torch.sin(2 * torch.pi * (400 + 500 * s) * t + 3 * torch.sin(40 * t) + phase)
        if self.augment is not None:
            wave = self.augment(wave)
        return wave, labels


class Choruses(L.LightningDataModule):
    def __init__(self, hp, workers):
        super().__init__()
        self.hp, self.workers = hp, workers

    def setup(self, stage):
        hp = self.hp
        self.train_set = Chorus(0, hp["train_clips"], hp, Augment(hp["gain_db"], hp["noise"]))
        self.val_set = Chorus(10_000, hp["val_clips"], hp)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.hp["batch_size"], shuffle=True, drop_last=True, num_workers=self.workers)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.hp["batch_size"], num_workers=self.workers)
