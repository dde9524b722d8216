import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

MEAN, STD = 0.35, 0.25


class Blobs(Dataset):
    """Noisy pictures with one bright disc, and its mask."""

    def __init__(self, n, size, augment, offset=0):
        self.n, self.size, self.augment, self.offset = n, size, augment, offset

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.offset + i)
        cy, cx = torch.rand(2, generator=g) * self.size
        r = 4 + 6 * torch.rand((), generator=g)
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < r**2).float()
        image = 0.3 * torch.rand(3, self.size, self.size, generator=g) + 0.5 * mask
        if self.augment and torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        return (image - MEAN) / STD, mask[None]


def make_loaders(cfg, seed):
    train_set = Blobs(cfg["train_items"], cfg["size"], augment=True)
    val_set = Blobs(cfg["val_items"], cfg["size"], augment=False, offset=5000)
    train_sampler = DistributedSampler(train_set, shuffle=True, seed=seed, drop_last=True)
    val_sampler = DistributedSampler(val_set, shuffle=False)
    common = dict(batch_size=cfg["batch_per_gpu"], num_workers=cfg["workers"], pin_memory=torch.cuda.is_available())
    return (
        DataLoader(train_set, sampler=train_sampler, drop_last=True, **common),
        DataLoader(val_set, sampler=val_sampler, **common),
    )
