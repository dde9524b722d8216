import torch
import torch.nn.functional as F
from torch import nn


class Quantiser(nn.Module):
    def __init__(self, codes, dim, beta):
        super().__init__()
        self.beta = beta
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight)

    @staticmethod
    def standardise(z):
        z = z.float()
        return (z - z.mean(-1, keepdim=True)) / (z.std(-1, keepdim=True) + 1e-5)

    def forward(self, z):
        b, c, h, w = z.shape
        flat = self.standardise(z.permute(0, 2, 3, 1).reshape(-1, c))
        with torch.no_grad():
            index = torch.cdist(flat, self.codebook.weight).argmin(1)
        code = self.codebook(index)
        codebook_loss = F.mse_loss(code, flat.detach())
        commitment = F.mse_loss(flat, code.detach())
        straight = flat + (code - flat).detach()
        straight = straight.view(b, h, w, c).permute(0, 3, 1, 2)
        return straight, codebook_loss + self.beta * commitment, index


class VQVAE(nn.Module):
    def __init__(self, bands, width, codes, dim, beta):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(bands, width, 4, 2, 1), nn.BatchNorm2d(width), nn.SiLU(),
            nn.Conv2d(width, width, 3, 1, 1), nn.SiLU(),
            nn.Conv2d(width, dim, 1),
        )
        self.quantiser = Quantiser(codes, dim, beta)
        self.decoder = nn.Sequential(
            nn.Conv2d(dim, width, 3, 1, 1), nn.SiLU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.SiLU(),
            nn.Conv2d(width, bands, 3, 1, 1), nn.Tanh(),
        )

    def forward(self, x):
        z, vq_loss, index = self.quantiser(self.encoder(x))
        return self.decoder(z), vq_loss, index
