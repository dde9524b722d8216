import math
import random

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def _texture(index, size):
    """A picture of a few gratings, in [0, 1]."""
    g = torch.Generator().manual_seed(index)
    yy, xx = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing="ij")
    planes = []
    for _ in range(3):
        fx, fy, phase = (torch.rand(3, generator=g) * 18).tolist()
        planes.append(0.5 + 0.5 * torch.sin(2 * math.pi * (fx * xx + fy * yy) + phase))
    return torch.stack(planes)


def downscale(gt, scale):
    return F.interpolate(gt[None], scale_factor=1 / scale, mode="bicubic", antialias=True)[0].clamp(0, 1)


def paired_random_crop(gt, lq, gt_size, scale):
    lq_size = gt_size // scale
    top = random.randint(0, lq.shape[1] - lq_size)
    left = random.randint(0, lq.shape[2] - lq_size)
    lq = lq[:, top:top + lq_size, left:left + lq_size]
    top, left = top * scale, left * scale
    return gt[:, top:top + gt_size, left:left + gt_size], lq


class PairedDataset(Dataset):
    def __init__(self, opt, scale, phase, offset=0):
        self.opt, self.scale, self.phase, self.offset = opt, scale, phase, offset

    def __len__(self):
        return self.opt["count"]

    def __getitem__(self, i):
        gt = _texture(self.offset + i, self.opt["size"])
        lq = downscale(gt, self.scale)
        if self.phase == "train":
            gt, lq = paired_random_crop(gt, lq, self.opt["gt_size"], self.scale)
            if random.random() < 0.5:
                gt, lq = gt.flip(-1), lq.flip(-1)
        return {"lq": lq, "gt": gt}


def build_loaders(opt):
    train_opt, val_opt = opt["datasets"]["train"], opt["datasets"]["val"]
    train_set = PairedDataset(train_opt, opt["scale"], "train")
    val_set = PairedDataset(val_opt, opt["scale"], "val", offset=10_000)
    train_loader = DataLoader(
        train_set,
        batch_size=train_opt["batch_size"],
        shuffle=True,
        drop_last=True,
        num_workers=train_opt["num_worker"],
    )
    return train_loader, DataLoader(val_set, batch_size=1)
