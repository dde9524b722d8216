import torch
import torch.nn.functional as F
from torch.utils.data import Dataset


def draw(size, generator):
    """A few soft rectangles on a gradient, in [0, 1]."""
    image = torch.rand(3, 1, 1, generator=generator) * torch.linspace(0.2, 1, size).view(1, 1, size).expand(3, size, size)
    image = image.clone()
    for _ in range(6):
        y, x, h, w = (torch.rand(4, generator=generator) * size / 2).int().tolist()
        image[:, y : y + h + 2, x : x + w + 2] = torch.rand(3, 1, 1, generator=generator)
    return image


class PairedDataset(Dataset):
    def __init__(self, opt, scale, seed, train):
        self.opt, self.scale, self.seed, self.train = opt, scale, seed, train

    def __len__(self):
        return self.opt["num_images"]

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed + index)
        gt = draw(self.opt["gt_size"], generator)
        if self.train and self.opt["use_hflip"] and torch.rand(()) < 0.5:
            gt = gt.flip(-1)
        lq = F.interpolate(gt[None], scale_factor=1 / self.scale, mode="bicubic", antialias=True)[0].clamp(0, 1)
        return {"lq": lq, "gt": gt}
