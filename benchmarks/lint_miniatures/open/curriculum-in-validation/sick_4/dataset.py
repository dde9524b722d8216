import torch
from torch.utils.data import Dataset
from torchvision.transforms.functional import gaussian_blur


class BlurDataset(Dataset):
    def __init__(self, n, seed):
        self.images = torch.rand(n, 1, 32, 32, generator=torch.Generator().manual_seed(seed))
        self.difficulty = 1.0

    def set_difficulty(self, value):
        self.difficulty = value

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        sharp = self.images[i]
        return gaussian_blur(sharp[None], 11, sigma=0.3 + 2.7 * self.difficulty)[0], sharp  #@
