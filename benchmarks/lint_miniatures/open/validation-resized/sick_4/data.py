import torch
from torch.utils.data import Dataset
from torchvision.io import read_image
from torchvision.transforms.functional import resize


class PairedImages(Dataset):
    def __init__(self, list_file):
        with open(list_file) as f:
            self.rows = [line.split() for line in f]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return tuple(read_image(p).float() / 255 for p in self.rows[i])


def make_collate(size):
    def collate(batch):
        noisy = torch.stack([resize(n, [size, size], antialias=True) for n, _ in batch])  #@
        clean = torch.stack([resize(c, [size, size], antialias=True) for _, c in batch])  #@
        return noisy, clean
    return collate
