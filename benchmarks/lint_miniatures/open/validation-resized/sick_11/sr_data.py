from pathlib import Path

from torch.utils.data import Dataset
from torchvision.io import read_image
from torchvision.transforms import RandomCrop
from torchvision.transforms.functional import crop


class PairedFolder(Dataset):
    def __init__(self, root, crop, scale=4):
        self.lr = sorted(Path(root, "LR").glob("*.png"))
        self.hr = sorted(Path(root, "HR").glob("*.png"))
        self.crop, self.scale = crop, scale

    def __len__(self):
        return len(self.lr)

    def __getitem__(self, i):
        lo, hi = read_image(str(self.lr[i])) / 255, read_image(str(self.hr[i])) / 255
        if self.crop:
            size, s = self.crop // self.scale, self.scale
            t, l, h, w = RandomCrop.get_params(lo, (size, size))
            lo, hi = crop(lo, t, l, h, w), crop(hi, t * s, l * s, h * s, w * s)
        return lo, hi
