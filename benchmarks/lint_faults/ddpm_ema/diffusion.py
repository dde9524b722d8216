import math

import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    """Predicts the noise that was added."""

    def __init__(self, dim=2, hidden=64, steps=100):
        super().__init__()
        self.time = nn.Embedding(steps, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.SiLU(), nn.Dropout(0.05))
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        return self.out(h + self.mid(h))


class GaussianDiffusion:
    def __init__(self, steps=100, device="cpu"):
        self.steps = steps
        s = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
        alpha_bar = torch.cos((s + 0.008) / 1.008 * math.pi / 2) ** 2
        betas = (1 - alpha_bar[1:] / alpha_bar[:-1]).clamp(max=0.999)
        self.alpha_bar = torch.cumprod(1 - betas, 0).float().to(device)

    def q_sample(self, x0, t, noise):
        a = self.alpha_bar[t].view(-1, *[1] * (x0.dim() - 1))
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def loss(self, model, x0):
        t = torch.randint(self.steps, (x0.size(0),), device=x0.device)
        noise = torch.randn_like(x0)
        x_t = self.q_sample(x0, t, noise)
        pred = model(x_t, t)
        return F.mse_loss(pred, noise)

    @torch.no_grad()
    def sample(self, model, shape, device):
        x = torch.randn(shape, device=device)
        for i in reversed(range(self.steps)):
            t = torch.full((shape[0],), i, device=device)
            a = self.alpha_bar[i]
            a_prev = self.alpha_bar[i - 1] if i > 0 else torch.ones_like(a)
            eps = model(x, t)
            x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-3, 3)
            x = a_prev.sqrt() * x0 + (1 - a_prev).sqrt() * eps
        return x
