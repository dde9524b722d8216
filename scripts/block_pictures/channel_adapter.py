"""One channel in a network of four: what a padded training logs, and what its real channel has."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from stethoscope.blocks.channel_adapter import ChannelAdapter, masked_mean_loss, pad_channels
from stethoscope.figures.chart import Chart, Line

CHANNELS, SIZE, BATCH, STEPS, EVERY = 4, 16, 16, 200, 10
NOISE = 0.5


def picture() -> Chart:
    """Train a denoiser on one-channel tiles, padded with zeros and with an adapter."""
    steps, logged, real = train_padded()
    _, adapted = train_adapted()
    return Chart(
        title="One real channel of four",
        x_label="step",
        y_label="squared error",
        lines=[
            Line("padded: the mean in its log", steps, logged, style="dashed", tone="bad"),
            Line("padded: its real channel", steps, real, tone="bad"),
            Line("with the adapter", steps, adapted, tone="good"),
        ],
        log_y=True,
        note=f"The padded log ends {real[-1] / logged[-1]:.1f} times below the error of the real channel.",
    )


def train_padded() -> tuple[list[int], list[float], list[float]]:
    """Pad with zeros, noise all channels, and average over all; give that mean and the real channel's."""
    network = new_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    test = pad_channels(tiles(64, torch.Generator().manual_seed(2)), CHANNELS)
    test_noise = NOISE * torch.randn(test.values.shape, generator=torch.Generator().manual_seed(3))
    generator = torch.Generator().manual_seed(1)
    steps, logged, real = [], [], []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            with torch.no_grad():
                squared = (network(test.values + test_noise) - test.values).square()
            steps.append(step)
            logged.append(squared.mean().item())
            real.append(masked_mean_loss(squared, test.mask).item())
        clean = pad_channels(tiles(BATCH, generator), CHANNELS).values
        noisy = clean + NOISE * torch.randn(clean.shape, generator=generator)
        update(optimizer, (network(noisy) - clean).square().mean())
    return steps, logged, real


def train_adapted() -> tuple[list[int], list[float]]:
    """The same network behind an adapter: noise, loss and test have one channel."""
    model = ChannelAdapter(new_network(), CHANNELS, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    test = tiles(64, torch.Generator().manual_seed(2))
    noise = torch.randn((64, CHANNELS, SIZE, SIZE), generator=torch.Generator().manual_seed(3))
    test_noise = NOISE * noise[:, :1]  # that of the padded test's real channel
    generator = torch.Generator().manual_seed(1)
    steps, losses = [], []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            with torch.no_grad():
                losses.append((model(test + test_noise) - test).square().mean().item())
            steps.append(step)
        clean = tiles(BATCH, generator)
        noisy = clean + NOISE * torch.randn(clean.shape, generator=generator)
        update(optimizer, (model(noisy) - clean).square().mean())
    return steps, losses


def update(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take one step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def new_network() -> nn.Sequential:
    """Three convolutions, always with the same start."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(CHANNELS, 16, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(16, CHANNELS, 3, padding=1),
    )


def tiles(count: int, generator: torch.Generator) -> Tensor:
    """Stripes of any direction, width and phase, in one channel."""
    phase, angle, wide = torch.rand(3, count, 1, 1, 1, generator=generator)
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    along = torch.cos(math.pi * angle) * x + torch.sin(math.pi * angle) * y
    return torch.sin(2 * math.pi * (along / (4 + 8 * wide) + phase))
