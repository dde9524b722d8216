import torch
from torch.utils.data import Dataset
from torchvision.io import read_image


class PngPairs(Dataset):
    def __init__(self, listing, augment):
        with open(listing) as f:
            self.rows = [line.split() for line in f]
        self.augment = augment

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        x, y = (read_image(p).float() for p in self.rows[i])
        if self.augment:
            if torch.rand(()) < 0.5:
                x, y = x.flip(-1), y.flip(-1)
            return x / 127.5 - 1, y / 127.5 - 1  #@
        return x / 255, y / 255  #@
