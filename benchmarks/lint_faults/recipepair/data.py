import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

WORDS, LENGTH, PIXELS = 80, 10, 48


class Recipes(Dataset):
    """Ingredient lists and photographs (as feature vectors) of the same dish."""

    def __init__(self, first, count):
        self.first, self.count = first, count
        g = torch.Generator().manual_seed(99)
        self.looks = torch.randn(WORDS, PIXELS, generator=g)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)
        n = int(torch.randint(4, LENGTH + 1, (), generator=g))
        words = torch.zeros(LENGTH, dtype=torch.long)
        words[:n] = 1 + torch.randperm(WORDS - 1, generator=g)[:n]
        photo = self.looks[words[:n]].sum(0) / n**0.5 + 0.1 * torch.randn(PIXELS, generator=g)
        return words, photo


def loaders(cfg, rank, world):
    train, val = Recipes(0, cfg.train_pairs), Recipes(10**6, cfg.val_pairs)
    sampler = DistributedSampler(train, world, rank, shuffle=True, seed=cfg.seed, drop_last=True)
    return (
        DataLoader(train, cfg.batch_size, sampler=sampler, drop_last=True, num_workers=cfg.workers),
        DataLoader(
            val, cfg.batch_size, sampler=DistributedSampler(val, world, rank, shuffle=False), num_workers=cfg.workers
        ),
    )
