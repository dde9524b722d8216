"""Three small trainings on procedural data: a model, batches, a loss of two parts, a held-out score.

    gratings   an image classifier with batch norm: striped discs among noise, ten angles
    chains     a transformer on symbols from Markov chains, told by a vector which chain it is
    textures   a super-resolution net, twice the size, on random smooth pictures with edges

A score is higher where the model is better. `dead` is the score of knowing nothing: chance for the first two,
plain interpolation for the third. What is not finite, or worse than that, counts as `dead`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Batch = tuple[Tensor, ...]  # the floating-point input first, what is to be learned last
Parts = dict[str, Tensor]
TRAINING, HELD_OUT = 2048, 512  # samples
DATA_SEED = 77  # the world is the same for all runs; only what is drawn from it differs


@dataclass(frozen=True, slots=True)
class Task:
    """One training: what is needed to write its loop. `rates` are learning rates by optimizer."""

    name: str
    data: Callable[[torch.Generator, int], Batch]
    model: Callable[[], nn.Module]
    parts: Callable[[nn.Module, Batch], Parts]
    score: Callable[[nn.Module, Batch], float]
    dead: float
    optimizer: str
    rates: dict[str, float]
    batch_size: int = 16


def batches(data: Batch, size: int, seed: int, steps: int) -> Iterator[Batch]:
    """Random batches, from a source of random numbers of their own."""
    source = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        chosen = torch.randint(len(data[-1]), (size,), generator=source)
        yield tuple(part[chosen] for part in data)


def drawn(task: Task, seed: int) -> tuple[Batch, Batch]:
    """The samples of one run to learn from, and those held out."""
    learning = task.data(torch.Generator().manual_seed(1000 + seed), TRAINING)
    held_out = task.data(torch.Generator().manual_seed(9000), HELD_OUT)
    return learning, held_out


@torch.no_grad()
def scored(task: Task, model: nn.Module, held_out: Batch) -> float:
    """The held-out score; what is not finite or worse than knowing nothing counts as that."""
    model.eval()
    score = task.score(model, held_out)
    return max(score, task.dead) if math.isfinite(score) else task.dead


# --- gratings

ANGLES, SIDE = 10, 12


def gratings(source: torch.Generator, count: int) -> Batch:
    """Noisy stripes under a soft disc, and the number of their angle."""
    label = torch.randint(ANGLES, (count,), generator=source)
    angle = label * (math.pi / ANGLES) + 0.06 * torch.randn(count, generator=source)
    phase = 2 * math.pi * torch.rand(count, generator=source)
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    along = angle.cos()[:, None, None] * x + angle.sin()[:, None, None] * y
    picture = torch.sin(8 * along + phase[:, None, None]) * torch.exp(-2 * (x * x + y * y))
    picture = picture + 0.35 * torch.randn(count, SIDE, SIDE, generator=source)
    return picture[:, None], label


def classifier() -> nn.Module:
    """Three convolutions with batch norm, and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * (SIDE // 4) ** 2, ANGLES),
    )


def label_parts(model: nn.Module, batch: Batch) -> Parts:
    """Cross entropy, and the penalty on large logits that is common beside it."""
    *inputs, label = batch
    logits = model(*inputs).float()
    return {
        "entropy": functional.cross_entropy(logits.flatten(0, -2), label.flatten()),
        "z": 1e-4 * logits.logsumexp(-1).square().mean(),
    }


def accuracy(model: nn.Module, batch: Batch) -> float:
    """The share of right answers; a model that gives NaN has none."""
    *inputs, label = batch
    logits = model(*inputs)
    if not bool(logits.isfinite().all()):
        return math.nan
    return float((logits.argmax(-1) == label).float().mean())


# --- chains

SYMBOLS, LENGTH, CHAINS = 24, 16, 4


def chains(source: torch.Generator, count: int) -> Batch:
    """A vector that says which chain (with noise), the symbols so far, and the symbols that follow."""
    world = torch.Generator().manual_seed(DATA_SEED)
    logits = 2.0 * torch.randn(CHAINS, SYMBOLS, SYMBOLS, generator=world)
    which = torch.randint(CHAINS, (count,), generator=source)
    symbols = [torch.randint(SYMBOLS, (count,), generator=source)]
    for _ in range(LENGTH):
        odds = logits[which, symbols[-1]].softmax(-1)
        symbols.append(torch.multinomial(odds, 1, generator=source)[:, 0])
    series = torch.stack(symbols, 1)
    told = functional.one_hot(which, CHAINS).float() + 0.1 * torch.randn(count, CHAINS, generator=source)
    return told, series[:, :-1], series[:, 1:]


class Transformer(nn.Module):
    """Two causal layers; the vector that says which chain is added to each symbol's embedding."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.symbol = nn.Embedding(SYMBOLS, width)
        self.place = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.told = nn.Linear(CHAINS, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, SYMBOLS)
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH).triu(1).bool(), persistent=False)

    def forward(self, told: Tensor, symbols: Tensor) -> Tensor:
        """Logits of the symbols that follow."""
        hidden = self.symbol(symbols) + self.place + self.told(told)[:, None]
        for layer in self.layers:
            hidden = layer(hidden, src_mask=self.mask)
        logits: Tensor = self.head(self.norm(hidden))
        return logits


# --- textures

SMALL = 8  # pixels


def textures(source: torch.Generator, count: int) -> Batch:
    """Small and large versions of smooth random pictures cut by an edge."""
    size = 2 * SMALL
    coarse = torch.rand(count, 1, 6, 6, generator=source)
    large = functional.interpolate(coarse, size=(size, size), mode="bicubic", align_corners=False)
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    angle = 2 * math.pi * torch.rand(count, 1, 1, generator=source)
    offset = 0.6 * torch.rand(count, 1, 1, generator=source) - 0.3
    side = (angle.cos() * x + angle.sin() * y > offset).float()[:, None]
    large = (0.6 * large + 0.4 * side).clamp(0, 1)
    return functional.avg_pool2d(large, 2), large


class Enlarger(nn.Module):
    """Interpolation, and three convolutions that learn what it leaves out."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(width, 4, 3, padding=1),
        )

    def forward(self, small: Tensor) -> Tensor:
        """A picture of twice the size."""
        base = functional.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
        return base + functional.pixel_shuffle(self.body(small), 2)


def picture_parts(model: nn.Module, batch: Batch) -> Parts:
    """The mean absolute difference of pictures, and of their slopes."""
    small, large = batch
    output = model(small).float()
    slopes = [functional.l1_loss(output.diff(dim=axis), large.diff(dim=axis)) for axis in (2, 3)]
    return {"l1": functional.l1_loss(output, large), "slope": 0.2 * (slopes[0] + slopes[1])}


def gain(model: nn.Module, batch: Batch) -> float:
    """Decibels (PSNR) above bilinear interpolation."""
    small, large = batch
    base = functional.interpolate(small, scale_factor=2, mode="bilinear", align_corners=False)
    return _psnr(model(small), large) - _psnr(base, large)


def _psnr(output: Tensor, large: Tensor) -> float:
    return -10 * math.log10(max(float(functional.mse_loss(output.float(), large)), 1e-12))


TASKS = {
    task.name: task
    for task in (
        Task(
            "gratings", gratings, classifier, label_parts, accuracy, 1 / ANGLES, "sgd",
            {"sgd": 0.03, "adamw": 2e-3},
        ),
        Task(
            "chains", chains, Transformer, label_parts, accuracy, 1 / SYMBOLS, "adamw",
            {"sgd": 0.1, "adamw": 1.5e-3},
        ),
        Task(
            "textures", textures, Enlarger, picture_parts, gain, 0.0, "adam",
            {"sgd": 0.05, "adam": 2e-3, "adamw": 2e-3},
        ),
    )
}  # fmt: skip
