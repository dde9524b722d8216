"""Plankton pictures: the old camera was monochrome, the new one has colour. The network always sees three channels."""
import torch
from torch.utils.data import DataLoader, Dataset

RAW = 32


def as_rgb(img):
    return img.expand(3, -1, -1) if img.shape[0] == 1 else img


class NoiseRamp:
    """Gaussian noise that grows over the first steps of training. Loaders run in-process, so datasets see it grow."""

    def __init__(self, low, high, steps):
        self.low, self.high, self.steps = low, high, steps
        self.now = 0

    def advance(self):
        self.now += 1

    def __call__(self):
        return self.low + (self.high - self.low) * min(1.0, self.now / self.steps)


class Standardise:
    def __init__(self, mean, std):
        self.mean, self.std = mean.view(3, 1, 1), std.view(3, 1, 1)

    @classmethod
    def fit(cls, pictures):
        flat = torch.stack([as_rgb(p) for p in pictures]).transpose(0, 1).flatten(1)
        return cls(flat.mean(1), flat.std(1))

    def __call__(self, x):
        return (x - self.mean) / self.std

    def undo(self, x):
        return x * self.std + self.mean


def draw(i):
    g = torch.Generator().manual_seed(i)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, RAW), torch.linspace(-1, 1, RAW), indexing="ij")
    cx, cy, r = (torch.rand(3, generator=g) - 0.5).tolist()
    body = torch.sigmoid(20 * (0.5 + 0.4 * r - ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()))
    stripes = 0.5 + 0.5 * torch.sin(12 * xx + 6 * cx)
    grey = (0.1 + 0.8 * body * stripes)[None]
    if i % 2:
        return grey
    tint = 0.5 + 0.5 * torch.rand(3, 1, 1, generator=g)
    return grey * tint


def random_view(size):
    def cut(img):
        top, left = torch.randint(0, RAW - size + 1, (2,)).tolist()
        img = img[:, top:top + size, left:left + size]
        return img.flip(-1) if torch.rand(()) < 0.5 else img

    return cut


class Plankton(Dataset):
    def __init__(self, pictures, level, standardise, view=None, fixed=False):
        self.pictures, self.level, self.standardise = pictures, level, standardise
        self.view, self.fixed = view, fixed

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        img = self.pictures[i]
        if self.view is not None:
            img = self.view(img)
        g = torch.Generator().manual_seed(i) if self.fixed else None
        noisy = img + self.level() * torch.randn(img.shape, generator=g)
        return self.standardise(as_rgb(noisy)), self.standardise(as_rgb(img))


def make_loaders(cfg):
    d = cfg["data"]
    train_pics = [draw(i) for i in range(d["n_train"])]
    val_pics = [draw(10_000 + i) for i in range(d["n_val"])]
    ramp = NoiseRamp(d["sigma_min"], d["sigma_max"], d["ramp_steps"])
    norm = Standardise.fit(train_pics)
    train = Plankton(train_pics, ramp, norm, view=random_view(d["size"]))
    val = Plankton(val_pics, lambda: d["sigma_max"], norm, fixed=True)
    common = dict(batch_size=d["batch"])
    return DataLoader(train, shuffle=True, drop_last=True, **common), DataLoader(val, **common), ramp, norm
