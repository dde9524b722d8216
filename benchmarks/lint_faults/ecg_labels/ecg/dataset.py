"""Twelve-lead records. Half of the recorders store only the eight independent leads."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

LEADS = ["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"]
STORED = ["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"]
CLASSES = ["AF", "LBBB", "STE", "PVC"]


def simulate(i, length, seed):
    rng = np.random.default_rng((seed, i))
    y = (rng.random(len(CLASSES)) < 0.35).astype(np.float32)
    t = np.arange(length) / 64
    rate = 1.2 + (0.25 * rng.standard_normal() if y[0] else 0.0)
    beat = np.exp(-(((t * rate) % 1 - 0.5) ** 2) / (0.004 * (3 if y[1] else 1)))
    gains = rng.uniform(0.5, 1.5, len(STORED))
    x = gains[:, None] * (beat + (0.4 * (((t * rate) % 1) > 0.55) if y[2] else 0))
    x[2:] += 0.8 * y[3] * np.sin(2 * np.pi * 3 * t) * (np.arange(6)[:, None] > 2)
    return (0.8 * x + 0.05 * rng.standard_normal(x.shape)).astype(np.float32), y


def to_twelve(x8):
    """The limb leads that were not stored follow from I and II (Einthoven, Goldberger)."""
    one, two = x8[0], x8[1]
    derived = np.stack([two - one, -(one + two) / 2, one - two / 2, two - one / 2])
    return np.concatenate([x8[:2], derived, x8[2:]])


class ECGSet(Dataset):
    def __init__(self, n, length, seed, stats=None, augment=False):
        rows = [simulate(i, length, seed) for i in range(n)]
        self.x = [to_twelve(x) for x, _ in rows]
        self.y = [y for _, y in rows]
        self.stats = stats if stats is not None else self.measure()
        self.augment = augment

    def measure(self):
        flat = np.concatenate(self.x, axis=1)
        return flat.mean(1, keepdims=True), flat.std(1, keepdims=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        mean, std = self.stats
        x = torch.from_numpy((self.x[i] - mean) / std).float()
        if self.augment:
            x = torch.roll(x, int(torch.randint(0, x.shape[1], ())), dims=1)
            x = x * (0.9 + 0.2 * torch.rand(()))
        return x, torch.from_numpy(self.y[i])


def build_loaders(cfg, seed):
    train = ECGSet(cfg["n_train"], cfg["length"], seed, augment=True)
    val = ECGSet(cfg["n_val"], cfg["length"], seed + 1, stats=train.stats)
    common = dict(batch_size=cfg["batch_size"], num_workers=cfg["workers"], pin_memory=torch.cuda.is_available())
    return DataLoader(train, shuffle=True, drop_last=True, **common), DataLoader(val, **common)
