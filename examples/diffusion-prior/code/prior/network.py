"""The denoiser: a small U-Net inside the preconditioning of a variance-preserving diffusion.

`VPPrecond` returns a denoised image: the noisy input passes through unchanged (`c_skip`) and the U-Net's
output is scaled by the noise (`c_out`) and taken away from it. Shapes are BCHW.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

BETA_D, BETA_MIN = 19.9, 0.1  # the slope and start of the variance-preserving noise schedule
TIMESTEPS = 1000


class ResidualBlock(nn.Module):
    """Two convolutions, told the noise level and the domain by a vector."""

    def __init__(self, channels: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.shift = nn.Linear(embedding, channels)
        self.norm2 = nn.GroupNorm(4, channels)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        """Refine `x`."""
        h: Tensor = self.conv1(F.silu(self.norm1(x)))
        h = h + self.shift(embedding)[:, :, None, None]
        h = self.conv2(self.dropout(F.silu(self.norm2(h))))
        return x + h


class SongUNet(nn.Module):
    """Two resolutions, with a skip between them."""

    def __init__(
        self, channels: int, model_channels: int, num_blocks: int, domains: int, dropout: float
    ) -> None:
        super().__init__()
        embedding = 2 * model_channels
        self.frequencies = model_channels // 2
        self.embed_noise = nn.Linear(model_channels, embedding)
        self.embed_domain = nn.Embedding(domains, embedding)
        self.enter = nn.Conv2d(channels, model_channels, 3, padding=1)
        self.fine = nn.ModuleList(
            ResidualBlock(model_channels, embedding, dropout) for _ in range(num_blocks)
        )
        self.down = nn.Conv2d(model_channels, model_channels, 3, stride=2, padding=1)
        self.coarse = nn.ModuleList(
            ResidualBlock(model_channels, embedding, dropout) for _ in range(num_blocks)
        )
        self.merge = nn.Conv2d(2 * model_channels, model_channels, 1)
        self.last = ResidualBlock(model_channels, embedding, dropout)
        self.leave = nn.Conv2d(model_channels, channels, 3, padding=1)
        # The network starts by predicting nothing, so the denoiser starts by returning its input.
        for parameter in self.leave.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor, noise_label: Tensor, domain: Tensor) -> Tensor:
        """Predict from `x`, whose noise and domain are given."""
        embedding = F.silu(self.embed_noise(self._positions(noise_label)) + self.embed_domain(domain))
        x = self.enter(x)
        for block in self.fine:
            x = block(x, embedding)
        coarse = self.down(x)
        for block in self.coarse:
            coarse = block(coarse, embedding)
        coarse = F.interpolate(coarse, scale_factor=2, mode="nearest")
        x = self.merge(torch.cat([x, coarse], dim=1))
        out: Tensor = self.leave(F.silu(self.last(x, embedding)))
        return out

    def _positions(self, noise_label: Tensor) -> Tensor:
        powers = torch.arange(self.frequencies, device=noise_label.device) / self.frequencies
        angles = noise_label[:, None] * torch.exp(-math.log(TIMESTEPS) * powers)
        return torch.cat([angles.cos(), angles.sin()], dim=1)


class VPPrecond(nn.Module):
    """Makes a denoiser of a network: `D(x) = c_skip * x + c_out * F(c_in * x)`."""

    def __init__(self, network: SongUNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, sigma: Tensor, domain: Tensor) -> Tensor:
        """Return the denoised image of `x`, which has noise of standard deviation `sigma`."""
        c_skip = 1.0
        c_out = -sigma
        c_in = 1 / (sigma**2 + 1).sqrt()
        c_noise = (TIMESTEPS - 1) * _time_of(sigma.flatten())
        f_x: Tensor = self.network(c_in * x, c_noise, domain)
        return c_skip * x + c_out * f_x.float()


def _time_of(sigma: Tensor) -> Tensor:
    """The time at which the variance-preserving schedule has reached `sigma`."""
    return ((BETA_MIN**2 + 2 * BETA_D * (1 + sigma**2).log()).sqrt() - BETA_MIN) / BETA_D
