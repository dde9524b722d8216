from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Diffusion:
    """Cosine schedule; the network predicts the velocity v = a * noise - s * x0."""

    def __init__(self, timesteps: int, device: torch.device) -> None:
        self.timesteps = timesteps
        angle = (torch.arange(timesteps, device=device) + 0.5) / timesteps * math.pi / 2
        self.a, self.s = angle.cos(), angle.sin()

    def coefficients(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.a[t].view(-1, 1, 1, 1), self.s[t].view(-1, 1, 1, 1)

    def training_pair(self, x0: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        t = torch.randint(0, self.timesteps, (len(x0),), device=x0.device)
        a, s = self.coefficients(t)
        noise = torch.randn_like(x0)
        return a * x0 + s * noise, a * noise - s * x0, t

    def to_clean(self, xt: torch.Tensor, out: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Clean image and noise from what the network gave."""
        a, s = self.coefficients(t)
        x0 = a * xt - s * out
        noise = s * xt + a * out
        return x0, noise

    @torch.no_grad()
    def restore(self, net: nn.Module, rainy: torch.Tensor, steps: int) -> torch.Tensor:
        """Deterministic DDIM; the noise is fixed so that validations can be compared."""
        g = torch.Generator().manual_seed(0)
        x = torch.randn(rainy.shape, generator=g).to(rainy.device)
        times = torch.linspace(self.timesteps - 1, 0, steps).long().tolist()
        for i, now in enumerate(times):
            t = torch.full((len(x),), now, device=x.device)
            x0, noise = self.to_clean(x, net(x, rainy, t).float(), t)
            x0 = x0.clamp(-1, 1)
            if i + 1 == len(times):
                return x0
            a, s = self.coefficients(torch.full_like(t, times[i + 1]))
            x = a * x0 + s * noise
        return x


def edge_loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    dx = F.l1_loss(a.diff(dim=-1), b.diff(dim=-1))
    return dx + F.l1_loss(a.diff(dim=-2), b.diff(dim=-2))
