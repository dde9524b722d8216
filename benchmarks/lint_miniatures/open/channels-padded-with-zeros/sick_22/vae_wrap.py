import torch.nn.functional as F
from torch import nn


class DepthAutoencoder(nn.Module):
    """Fine-tunes an RGB autoencoder on single-channel depth maps."""

    def __init__(self, rgb_autoencoder):
        super().__init__()
        self.encoder = rgb_autoencoder.encoder
        self.decoder = rgb_autoencoder.decoder

    def forward(self, depth):
        rgb = F.pad(depth, (0, 0, 0, 0, 0, 2))  #@
        return self.decoder(self.encoder(rgb))[:, :1]


class RGBAutoencoder(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.SiLU(), nn.Conv2d(width, 8, 4, 2, 1))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, width, 4, 2, 1), nn.SiLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1))
