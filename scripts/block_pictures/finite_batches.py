"""One sample with one NaN: evaluation with the sample dropped, the step skipped, and nothing done."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from stethoscope.blocks.finite_batches import FiniteBatches
from stethoscope.figures.chart import Chart, Line, Mark

STEPS, BAD_STEP, EVERY, BATCH = 300, 100, 5, 32
Way = Literal["dropped", "skipped", "plain"]


def picture() -> Chart:
    """Train the same network three times on the same batches, of which one holds a NaN."""
    steps = range(0, STEPS, EVERY)
    dropped, skipped, plain = (_evaluations(way) for way in ("dropped", "skipped", "plain"))
    return Chart(
        title="A network with BatchNorm, one NaN in one sample",
        x_label="optimizer step",
        y_label="evaluation loss",
        lines=[
            Line("sample dropped (this block)", steps, dropped, tone="good"),
            Line("step skipped by a scaler", steps, skipped, "dashed", "bad"),
            Line("nothing done", steps, plain, "dots", "muted"),
        ],
        marks=[Mark(BAD_STEP, "NaN")],
        log_y=True,
        note="Skipping the step saves the weights, not the statistics of BatchNorm: those saw the NaN.",
    )


def _evaluations(way: Way) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=way == "skipped")
    data = _batches()
    held_out = data.pop()
    losses = []
    for step, (x, y) in enumerate(FiniteBatches(data) if way == "dropped" else data):
        if step % EVERY == 0:
            model.eval()
            with torch.no_grad():
                losses.append((model(held_out[0]) - held_out[1]).square().mean().item())
            model.train()
        scaler.scale((model(x) - y).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return losses


def _batches() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    batches = []
    for _ in range(STEPS + 1):
        x = torch.randn(BATCH, 8, generator=generator)
        batches.append((x, x.sin().sum(1, keepdim=True)))
    batches[BAD_STEP][0][3, 2] = torch.nan
    return batches
