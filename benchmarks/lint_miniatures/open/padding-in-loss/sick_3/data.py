import torch
from torch.utils.data import Dataset


class Trajectories(Dataset):
    def __init__(self, n=2000, max_len=100):
        self.max_len = max_len
        self.items = [torch.randn(int(torch.randint(10, max_len, (1,))), 4) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x = self.items[i]
        padded = torch.zeros(self.max_len, 4)
        padded[: len(x)] = x
        mask = torch.zeros(self.max_len, dtype=torch.bool)
        mask[: len(x)] = True
        return padded, mask
