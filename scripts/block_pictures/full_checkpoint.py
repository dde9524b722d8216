"""A training that is stopped half way: resumed with everything, and with the weights alone."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn

from stethoscope.blocks.full_checkpoint import FullCheckpoint, random_state, restore_random_state
from stethoscope.figures.chart import Chart, Line, Mark

STEPS, STOP = 400, 200
BATCH, LEARNING_RATE = 16, 0.01


def picture() -> Chart:
    """Compare the losses of resumed runs with those of the run that was not stopped, batch by batch."""
    before = random_state()
    try:
        with TemporaryDirectory() as folder:
            whole = _train(Path(folder), "none")
            everything = _train(Path(folder), "everything")
            weights = _train(Path(folder), "weights")
    finally:
        restore_random_state(before)
    steps = range(STEPS)
    largest = np.abs(np.subtract(everything, whole)).max()
    return Chart(
        title="Stopped at step 200: how far the loss is from that of the run that was not",
        x_label="optimizer step",
        y_label="difference in loss",
        lines=[
            Line("weights alone", steps, np.subtract(weights, whole), tone="bad"),
            Line("everything (this block)", steps, np.subtract(everything, whole), tone="good"),
        ],
        marks=[Mark(STOP, "stopped and resumed")],
        note=f"With everything restored the largest difference is {largest:g}. Else Adam begins anew.",
    )


def _train(folder: Path, resume: str) -> list[float]:
    """The losses of a run; a resumed one has those of the first half from before it was stopped."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    losses: list[float] = []
    for step in range(STEPS):
        if step == STOP:
            FullCheckpoint(folder, model=model, optimizer=optimizer).save(step)
        if step == STOP and resume != "none":
            torch.manual_seed(1)
            random.seed(1)
            optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
            if resume == "everything":
                FullCheckpoint(folder, model=model, optimizer=optimizer).resume()
        x = torch.randn(BATCH, 8, generator=torch.Generator().manual_seed(step))
        loss = (model(x) - x.sin().sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses
