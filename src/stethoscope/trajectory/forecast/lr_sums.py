"""What a learning-rate schedule has done up to a step: its sum, and the area of its annealing.

A loss falls with the sum of the rates, not with the number of steps, and falls further where the rate is
lowered: `L = L0 + A (S1 + Sw)^-alpha - B S2` (arXiv 2408.11029). S2 adds up how far the rate has come down,
with a momentum, so that a cut acts over the thousand steps behind it and not at once.
"""

from __future__ import annotations

import math

import numpy as np

from stethoscope.run import Steps, Values

MEMORY = 0.999  # per step: what is left of a cut in the rate
MOST_CELLS = 4096
LEAST_LENGTH = 10  # of the momentum's length must lie in a run; in a shorter one it is that part of the run


def sums(steps: Steps, rates: Values, at: Values) -> tuple[Values, Values]:
    """S1 and S2 at the places `at`, in units of the highest rate; `steps` and `rates` are the schedule."""
    first, last = float(steps[0]), float(max(at.max(), steps[-1]))
    cells = int(min(MOST_CELLS, max(last - first, 1.0)))
    grid = np.linspace(first, last, cells + 1)
    width = (last - first) / cells
    rate = np.interp(grid, steps.astype(np.float64), rates) / max(float(rates.max()), 1e-300)
    spent = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2.0) * width])
    annealed = _annealed(rate, width, last - first)
    return np.interp(at, grid, spent), np.interp(at, grid, annealed)


def _annealed(rate: Values, width: float, length: float) -> Values:
    memory = min(MEMORY, math.exp(-LEAST_LENGTH / max(length, 1.0)))
    kept = memory**width
    fall = np.concatenate([[0.0], rate[:-1] - rate[1:]])
    fall[: int(np.argmax(rate)) + 1] = 0.0  # a warm-up anneals nothing
    momentum = np.empty(len(rate))
    now = 0.0
    for place, one in enumerate(fall.tolist()):
        now = kept * now + one
        momentum[place] = now
    # What is left of a cut acts in every step of a cell.
    return np.asarray(np.cumsum(momentum) * (1.0 - kept) / (1.0 - memory))
