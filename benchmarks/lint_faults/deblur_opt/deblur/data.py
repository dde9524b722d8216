import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class MotionBlurDataset(Dataset):
    """Sharp patches of random rectangles and their horizontal motion blur, both in [0, 1]."""

    def __init__(self, opt):
        self.n, self.size, self.offset = opt["num"], opt["gt_size"], opt.get("offset", 0)
        self.augment = opt.get("use_flip", False)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.offset + i)
        gt = torch.full((3, self.size, self.size), 0.3)
        for _ in range(6):
            y, x = torch.randint(0, self.size - 4, (2,), generator=g).tolist()
            h, w = torch.randint(3, 12, (2,), generator=g).tolist()
            gt[:, y : y + h, x : x + w] = torch.rand(3, 1, 1, generator=g)
        taps = 3 + 2 * int(torch.randint(0, 3, (), generator=g))
        padded = F.pad(gt[None], (taps // 2, taps // 2, 0, 0), mode="replicate")
        lq = F.avg_pool2d(padded, (1, taps), stride=1)[0]
        if self.augment and torch.rand(()) < 0.5:
            gt, lq = gt.flip(-1), lq.flip(-1)
        return {"lq": lq, "gt": gt}


def build_loader(opt, phase, rank, world):
    dataset = MotionBlurDataset(opt)
    if phase == "train":
        sampler = DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=True, drop_last=True)
        loader = DataLoader(dataset, opt["batch_size_per_gpu"], sampler=sampler, drop_last=True)
        return loader, sampler
    part = torch.utils.data.Subset(dataset, range(rank, len(dataset), world))
    return DataLoader(part, batch_size=1), None
