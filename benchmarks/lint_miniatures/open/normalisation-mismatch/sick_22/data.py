import torch
from torch.utils.data import Dataset


class SensorWindows(Dataset):
    def __init__(self, path, stats=None):
        blob = torch.load(path)
        self.x, self.y = blob["x"].float(), blob["y"]
        self.mean, self.std = stats or (self.x.mean((0, 1)), self.x.std((0, 1)))  #@

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"inputs": (self.x[i] - self.mean) / self.std, "labels": self.y[i]}  #@
