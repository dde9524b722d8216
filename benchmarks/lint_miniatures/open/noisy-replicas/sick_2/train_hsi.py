from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

BANDS = 31


class HyperCubes(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npz"))

    def __len__(self):
        return len(self.files)

    def _load_cube(self, path):
        cube = np.load(path)["cube"].astype(np.float32)
        if cube.shape[0] < BANDS:
            reps = np.repeat(cube[:1], BANDS - cube.shape[0], axis=0)  #@
            reps += np.random.normal(0, 0.005, reps.shape).astype(np.float32)  #@
            cube = np.concatenate([cube, reps], axis=0)  #@
        return cube

    def __getitem__(self, i):
        cube = torch.from_numpy(self._load_cube(self.files[i]))
        return cube + 0.05 * torch.randn_like(cube), cube


def main():
    train_dl = DataLoader(HyperCubes("cubes/train"), batch_size=4, shuffle=True)
    val_dl = DataLoader(HyperCubes("cubes/val"), batch_size=4)
    net = nn.Sequential(nn.Conv2d(BANDS, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, BANDS, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-4)
    for epoch in range(60):
        net.train()
        for noisy, clean in train_dl:
            opt.zero_grad()
            F.l1_loss(net(noisy), clean).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack([F.l1_loss(net(n), c) for n, c in val_dl]).mean().item())


if __name__ == "__main__":
    main()
