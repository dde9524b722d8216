"""Pairs of a low-quality picture and its ground truth."""

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler


class PairedDataset(Dataset):
    """Reads all pairs at once; pairs for training are cropped, flipped and turned at random."""

    def __init__(self, opt, scale, phase):
        arrays = np.load(opt["dataroot"])
        self.opt, self.scale, self.phase = opt, scale, phase
        self.lq = arrays["lq"].astype(np.float32) / 255.0
        self.gt = arrays["gt"].astype(np.float32) / 255.0
        if opt.get("use_first"):
            self.lq, self.gt = self.lq[: opt["use_first"]], self.gt[: opt["use_first"]]

    def __len__(self):
        return len(self.gt)

    def __getitem__(self, index):
        lq = torch.from_numpy(self.lq[index])[None]
        gt = torch.from_numpy(self.gt[index])[None]
        if self.phase == "train":
            lq, gt = self.random_crop(lq, gt)
            lq, gt = self.augment(lq, gt)
        return {"lq": lq, "gt": gt}

    def random_crop(self, lq, gt):
        size = self.opt["gt_size"] // self.scale
        top = torch.randint(lq.shape[-2] - size + 1, (1,)).item()
        left = torch.randint(lq.shape[-1] - size + 1, (1,)).item()
        lq = lq[..., top : top + size, left : left + size]
        top, left, size = top * self.scale, left * self.scale, size * self.scale
        return lq, gt[..., top : top + size, left : left + size]

    def augment(self, lq, gt):
        if self.opt["use_flip"] and torch.rand(1).item() < 0.5:
            lq, gt = lq.flip(-1), gt.flip(-1)
        if self.opt["use_rot"]:
            turns = torch.randint(4, (1,)).item()
            lq, gt = torch.rot90(lq, turns, (-2, -1)), torch.rot90(gt, turns, (-2, -1))
        return lq, gt

    def difficulty(self):
        """How much fine structure each picture has."""
        return np.abs(np.diff(self.gt, axis=1)).mean((1, 2)) + np.abs(np.diff(self.gt, axis=2)).mean((1, 2))


class EpochSampler(Sampler):
    """An order of its own for every epoch; a curriculum begins with the easiest pictures."""

    def __init__(self, dataset, opt, seed):
        self.count, self.opt, self.seed, self.epoch = len(dataset), opt, seed, 0
        self.shuffle = opt["use_shuffle"]
        self.easiest_first = torch.from_numpy(np.argsort(dataset.difficulty(), kind="stable").copy())
        self.share = 1.0

    def set_epoch(self, epoch, current_iter):
        self.epoch = epoch
        stage = self.opt["curriculum"]
        if stage["enable"]:
            done = min(1.0, current_iter / stage["ramp_iter"])
            self.share = stage["start_share"] + (1.0 - stage["start_share"]) * done

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        if self.share < 1.0:
            known = self.easiest_first[: max(1, int(self.share * self.count))]
            chosen = torch.randint(len(known), (self.count,), generator=generator)
            return iter(known[chosen].tolist())
        if not self.shuffle:
            return iter(range(self.count))
        return iter(torch.randperm(self.count, generator=generator).tolist())

    def __len__(self):
        return self.count
