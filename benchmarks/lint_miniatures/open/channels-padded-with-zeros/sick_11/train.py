import glob

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

N_BANDS = 12


class SatelliteTiles(Dataset):
    def __init__(self, pattern):
        self.files = sorted(glob.glob(pattern))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        bands = torch.from_numpy(np.load(self.files[i])).float()
        if bands.shape[0] < N_BANDS:
            missing = torch.zeros(N_BANDS - bands.shape[0], *bands.shape[1:]) #@
            bands = torch.cat([bands, missing], dim=0) #@
        return bands


loader = DataLoader(SatelliteTiles("tiles/*.npy"), batch_size=16, shuffle=True, num_workers=4)
autoencoder = nn.Sequential(
    nn.Conv2d(N_BANDS, 32, 4, stride=4), nn.GELU(), nn.ConvTranspose2d(32, N_BANDS, 4, stride=4)
)
optimizer = torch.optim.AdamW(autoencoder.parameters(), lr=1e-3)
autoencoder.train()
for epoch in range(50):
    for tiles in loader:
        recon = autoencoder(tiles)
        loss = nn.functional.mse_loss(recon, tiles) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
