"""How far accumulated gradients are from those of the one big batch, by how unequal the parts are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from stethoscope.blocks.accumulation import accumulated
from stethoscope.figures.chart import Chart, Line

TOKENS, FEATURES, CLASSES = 128, 16, 8
SIZES = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]


def picture() -> Chart:
    """Split the same tokens into two micro-batches in ever more equal parts."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(TOKENS, FEATURES, dtype=torch.float64, generator=generator)
    y = torch.randint(0, CLASSES, (TOKENS,), generator=generator)
    weight = torch.randn(FEATURES, CLASSES, dtype=torch.float64, generator=generator)
    whole = _gradient([(x, y)], weight, "none")
    errors: dict[str, list[float]] = {"shares": [], "divided": [], "none": []}
    for size in SIZES:
        parts = [(x[:size], y[:size]), (x[size:], y[size:])]
        for rule, found in errors.items():
            found.append(((_gradient(parts, weight, rule) - whole).norm() / whole.norm()).item())
    return Chart(
        title="128 tokens in two micro-batches: the error of the gradient",
        x_label="tokens in the smaller micro-batch",
        y_label="error, relative to the one big batch",
        lines=[
            Line("shares (this block)", SIZES, errors["shares"], tone="good"),
            Line("divided by two", SIZES, errors["divided"], "dashed", "bad"),
            Line("not divided", SIZES, errors["none"], "dotted", "muted"),
        ],
        log_y=True,
        note=f"With one token on one side the mean of means is wrong by {errors['divided'][0]:.0%}.",
    )


def _gradient(parts: list[tuple[Tensor, Tensor]], weight: Tensor, rule: str) -> Tensor:
    leaf = weight.clone().requires_grad_()
    for micro in accumulated(parts, every=len(parts)):
        x, y = micro.batch
        factor = {"shares": micro.share, "divided": 1 / len(parts), "none": 1.0}[rule]
        (cross_entropy(x @ leaf, y) * factor).backward()
    assert leaf.grad is not None
    return leaf.grad
