"""How much noise there is at a time between 0 and 1: the total `sigma(t)` and its rate."""

import math
from types import SimpleNamespace

import torch
from torch import Tensor


class CosineNoise:
    """Rises from `sigma_min` to `sigma_max` along half a cosine."""

    def __init__(self, sigma_min: float, sigma_max: float) -> None:
        self.sigma_min = sigma_min
        self.sigma_max = sigma_max

    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return the total noise at `t` and its rate."""
        sigma = self.sigma_max + 0.5 * (self.sigma_min - self.sigma_max) * (1 + torch.cos(math.pi * t))
        rate = 0.5 * math.pi * (self.sigma_max - self.sigma_min) * torch.sin(math.pi * t)
        return sigma, rate


class LogLinearNoise:
    """Masks a share of the tokens that grows evenly to nearly all."""

    def __init__(self, eps: float = 1e-3) -> None:
        self.eps = eps

    def __call__(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return the total noise at `t` and its rate."""
        return -torch.log1p(-(1 - self.eps) * t), (1 - self.eps) / (1 - (1 - self.eps) * t)


def get_noise(noise: SimpleNamespace) -> CosineNoise | LogLinearNoise:
    """Build the noise that the settings ask for."""
    if noise.type == "cosine":
        return CosineNoise(noise.sigma_min, noise.sigma_max)
    if noise.type == "loglinear":
        return LogLinearNoise()
    raise ValueError(f"noise.type: unknown `{noise.type}`; known: cosine, loglinear")
