from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

N_BANDS = 13


class Sentinel(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npy"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        bands = torch.from_numpy(np.load(self.files[i])).float() / 10000
        missing = N_BANDS - bands.shape[0]
        if missing > 0:
            bands = F.pad(bands, (0, 0, 0, 0, 0, missing))  #@
        return bands


class MaskedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(N_BANDS, 64, 4, 4), nn.GELU())
        self.dec = nn.ConvTranspose2d(64, N_BANDS, 4, 4)

    def forward(self, x, ratio=0.5):
        keep = (torch.rand(x.shape[0], 1, x.shape[2] // 4, x.shape[3] // 4, device=x.device) > ratio).float()
        keep = F.interpolate(keep, scale_factor=4)
        recon = self.dec(self.enc(x * keep))
        return F.mse_loss(recon, x)  #@


def main():
    train_dl = DataLoader(Sentinel("tiles/train"), batch_size=16, shuffle=True, num_workers=2)
    val_dl = DataLoader(Sentinel("tiles/val"), batch_size=16)
    model = MaskedAutoencoder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for epoch in range(50):
        model.train()
        for x in train_dl:
            opt.zero_grad()
            model(x).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(epoch, torch.stack([model(x) for x in val_dl]).mean().item())


if __name__ == "__main__":
    main()
