import torch
from torch.utils.data import DataLoader, Dataset

MEAN, STD = 0.45, 0.22


class Stripes(Dataset):
    """Stripes at one of several angles."""

    def __init__(self, n, size, num_classes, seed):
        self.n, self.size, self.num_classes, self.seed = n, size, num_classes, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_003 + i)
        label = int(torch.randint(self.num_classes, (1,), generator=g))
        angle = torch.tensor(label * 3.14159 / self.num_classes)
        ys, xs = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        wave = torch.sin((xs * angle.cos() + ys * angle.sin()) * 1.3)
        image = 0.45 + 0.3 * wave + 0.1 * torch.randn(self.size, self.size, generator=g)
        return ((image.clamp(0, 1) - MEAN) / STD).unsqueeze(0), label


def build_loaders(cfg):
    train = Stripes(96, cfg.image_size, cfg.num_classes, seed=cfg.seed)
    val = Stripes(48, cfg.image_size, cfg.num_classes, seed=cfg.seed + 1)
    return (
        DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True),
        DataLoader(val, batch_size=2 * cfg.batch_size, shuffle=False),
    )
