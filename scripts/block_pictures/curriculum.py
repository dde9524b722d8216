"""The loss of a model that knows nothing, under the protein system's curriculum and at a fixed difficulty."""

from __future__ import annotations

import math

import numpy as np

from stethoscope.blocks.curriculum import Curriculum
from stethoscope.figures.chart import Chart, Line

TOKENS, SIGMA_MAX = 36, 0.8
STEPS, EVERY = 10_000, 50


def picture() -> Chart:
    """Compute the chance loss at every step; nothing is trained."""
    curriculum = Curriculum("fast-exponential", steps=5000, start=0.1)
    slow = Curriculum("slow-exponential", steps=5000, start=0.1)
    difficulty, chance, held = [], [], []
    for step in range(STEPS):
        if step % EVERY == 0:
            difficulty.append(curriculum.difficulty)
            chance.append(chance_loss(curriculum.difficulty))
            with curriculum.fixed():
                held.append(chance_loss(curriculum.difficulty))
        curriculum.step()
    steps = range(0, STEPS, EVERY)
    return Chart(
        title="A model that learns nothing, under a curriculum",
        x_label="optimizer step",
        y_label="loss, and difficulty",
        lines=[
            Line("loss, as the curriculum goes", steps, chance, tone="bad"),
            Line("loss, evaluated in fixed()", steps, held, tone="good"),
            Line("difficulty: fast-exponential", steps, difficulty, "dashed"),
            Line("difficulty: slow-exponential", steps, [slow.at(step) for step in steps], "dotted"),
        ],
        y_limits=(0.0, None),
        note=f"The loss rises from {chance[0]:.2f} to {chance[-1]:.2f} by the difficulty alone.",
    )


def chance_loss(difficulty: float) -> float:
    """The loss of a uniform guess among the tokens, with the noise scaled by the difficulty."""
    sigma = np.linspace(1e-4, SIGMA_MAX, 4001)
    density = -np.expm1(-difficulty * sigma) / np.expm1(sigma)
    return math.log(TOKENS) * float(np.trapezoid(density, sigma))
