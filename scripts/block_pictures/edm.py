"""A denoiser trained with its own target, and one trained on a velocity, at every noise level."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from stethoscope.blocks.edm import Preconditioned, denoising_loss, edm_baselines, edm_coefficients, edm_loss
from stethoscope.blocks.sigma_sampling import LogNormal, sample_sigmas
from stethoscope.figures.chart import Chart, Level, Line

LENGTH, BATCH, STEPS, TEST = 16, 64, 800, 1024
SIGMA_DATA = 0.5


def picture() -> Chart:
    """Train both ways on waves, and show the loss of the denoised output by noise level."""
    sigmas = torch.logspace(-2, 1, 25)
    healthy, sick = (Preconditioned(Network(), SIGMA_DATA) for _ in range(2))
    train(healthy, lambda clean, sigma, noise: denoising_loss(healthy, clean, sigma, noise=noise))
    first, last = train(sick, lambda clean, sigma, noise: velocity_losses(sick, clean, sigma, noise))
    baselines = edm_baselines(sigmas, SIGMA_DATA)
    return Chart(
        title="The loss of a denoised output, by noise",
        x_label="noise (sigma)",
        y_label="weighted loss",
        lines=[
            Line("answers zero", sigmas, baselines.zeros, style="dotted", tone="muted"),
            Line("copies its input", sigmas, baselines.copy, style="dashed", tone="muted"),
            Line("trained on a velocity", sigmas, by_noise(sick, sigmas), tone="bad"),
            Line("trained with denoising_loss", sigmas, by_noise(healthy, sigmas), tone="good"),
        ],
        levels=[Level(1.0, "untrained")],
        log_x=True,
        log_y=True,
        note=f"In its own log the loss of the velocity falls from {first:.2f} to {last:.2f}.",
    )


class Network(nn.Module):
    """Three layers that are told the noise."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(
            nn.Linear(LENGTH + 1, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, LENGTH)
        )

    def forward(self, x: Tensor, c_noise: Tensor) -> Tensor:
        """Answer to noisy waves."""
        answer: Tensor = self.layers(torch.cat([x, c_noise[:, None]], dim=1))
        return answer


def velocity_losses(denoiser: Preconditioned, clean: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
    """The mistake: the output is denoised, and is compared with what the network inside should give."""
    noisy = clean + sigma[:, None] * noise
    c = edm_coefficients(sigma[:, None], SIGMA_DATA)
    velocity = (clean - c.c_skip * noisy) / c.c_out
    return (denoiser(noisy, sigma) - velocity).square().mean(1)


def train(model: nn.Module, losses_of: Callable[[Tensor, Tensor, Tensor], Tensor]) -> tuple[float, float]:
    """Train a model and give the mean loss of the first and of the last hundred steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    generator = torch.Generator().manual_seed(1)
    history = []
    for _ in range(STEPS):
        clean = waves(BATCH, generator)
        sigma = sample_sigmas(LogNormal(), BATCH, generator=generator, stratified=True)
        loss = losses_of(clean, sigma, torch.randn(clean.shape, generator=generator)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        history.append(loss.detach())
    return torch.stack(history[:100]).mean().item(), torch.stack(history[-100:]).mean().item()


@torch.no_grad()
def by_noise(model: nn.Module, sigmas: Tensor) -> list[float]:
    """The loss of the denoised output at each noise level, on waves that were not trained on."""
    generator = torch.Generator().manual_seed(2)
    clean = waves(TEST, generator)
    noise = torch.randn(clean.shape, generator=generator)
    losses = []
    for sigma in sigmas:
        level = sigma.expand(TEST)
        losses.append(edm_loss(model(clean + sigma * noise, level), clean, level, SIGMA_DATA).mean().item())
    return losses


def waves(count: int, generator: torch.Generator) -> Tensor:
    """Sines of any phase and of two to three periods, with the standard deviation `SIGMA_DATA`."""
    phase = 2 * math.pi * torch.rand(count, 1, generator=generator)
    periods = 2 + torch.rand(count, 1, generator=generator)
    place = torch.arange(LENGTH) / LENGTH
    return SIGMA_DATA * math.sqrt(2) * torch.sin(2 * math.pi * periods * place + phase)
