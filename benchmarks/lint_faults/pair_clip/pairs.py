import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

COLOURS = torch.tensor([[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [0.1, 0.1, 1.0], [1.0, 1.0, 0.1]])
VOCAB = 16
MEAN = torch.tensor([0.45, 0.45, 0.30]).view(3, 1, 1)
STD = torch.tensor([0.30, 0.30, 0.25]).view(3, 1, 1)


class ShapesWithCaptions(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        colour, size, row = (int(torch.randint(4, (), generator=g)) for _ in range(3))
        image = 0.2 * torch.rand(3, 24, 24, generator=g)
        side = 4 + 3 * size
        image[:, 2 * row:2 * row + side, 3:3 + side] = COLOURS[colour].view(3, 1, 1)
        caption = [1 + colour, 5 + size, 9 + row]
        if i % 2:
            caption = [15, *caption]
        ids = torch.zeros(4, dtype=torch.long)
        ids[:len(caption)] = torch.tensor(caption)
        return (image - MEAN) / STD, ids


def loaders(args, rank, world):
    train, val = ShapesWithCaptions(96, 0), ShapesWithCaptions(32, 70_000)
    sampler = DistributedSampler(train, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    train_loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True, num_workers=args.workers)
    val_loader = DataLoader(val, args.batch_size, sampler=DistributedSampler(val, world, rank, shuffle=False))
    return train_loader, val_loader, sampler
