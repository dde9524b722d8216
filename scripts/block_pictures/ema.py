"""The distance of averaged weights from the best ones, with one step of NaN in the middle."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stethoscope.blocks.ema import EMA
from stethoscope.figures.chart import Chart, Line, Mark

STEPS, BAD_STEP, EVERY = 4000, 2000, 20
PLAIN_DECAY = 0.99
FEATURES, BATCH, LEARNING_RATE, NOISE = 20, 8, 0.02, 1.0


def picture() -> Chart:
    """Fit a line through noisy points and follow the weights and three averages of them."""
    generator = torch.Generator().manual_seed(0)
    best = torch.randn(1, FEATURES, generator=generator)
    model = nn.Linear(FEATURES, 1, bias=False)
    nn.init.constant_(model.weight, 3.0)
    averages = {"power": EMA(model, decay=0.999), "none": EMA(model, decay=0.999, warmup="none")}
    plain = model.weight.detach().clone()
    rows: list[list[float]] = []
    for step in range(1, STEPS + 1):
        _train(model, best, generator)
        kept = model.weight.detach().clone()
        if step == BAD_STEP:
            nn.init.constant_(model.weight, torch.nan)
        plain = PLAIN_DECAY * plain + (1 - PLAIN_DECAY) * model.weight.detach()
        for average in averages.values():
            average.update()
        model.weight.data.copy_(kept)  # training goes back to the good weights
        if step % EVERY == 0:
            shadows = [average.state_dict()["shadow"]["weight"] for average in averages.values()]
            rows.append([_distance(one, best) for one in (kept, *shadows, plain)])
    steps = range(EVERY, STEPS + 1, EVERY)
    weights, power, no_warm_up, poisoned = zip(*rows, strict=True)
    return Chart(
        title="Weights and their averages, one step of NaN at 2000",
        x_label="optimizer step",
        y_label="distance from the best weights",
        lines=[
            Line("weights", steps, weights, tone="muted"),
            Line("EMA (this block)", steps, power, tone="good"),
            Line("EMA without warm-up", steps, no_warm_up, "dashed"),
            Line("plain average", steps, poisoned, "solid", "bad"),
        ],
        marks=[Mark(BAD_STEP, "NaN, then back")],
        log_y=True,
        note=f"The plain average is NaN for good. This block left out {averages['power'].skipped()} step.",
    )


def _train(model: nn.Linear, best: Tensor, generator: torch.Generator) -> None:
    x = torch.randn(BATCH, FEATURES, generator=generator)
    y = x @ best.T + NOISE * torch.randn(BATCH, 1, generator=generator)
    with torch.no_grad():
        error = x @ model.weight.T - y
        model.weight -= LEARNING_RATE * (error.T @ x) / BATCH


def _distance(weight: Tensor, best: Tensor) -> float:
    return (weight - best).norm().item()
