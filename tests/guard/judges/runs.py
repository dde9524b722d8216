"""Short runs for tests of judges: what each step shows, and what the judge says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from stethoscope.guard import judging
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.judging import Judgement
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy

NAN, INF = float("nan"), float("inf")
REWINDING = Policy(rewind=True)


def rows(count: int, seed: int = 0, noise: float = 0.03, **other: float) -> list[dict[str, float]]:
    """Healthy steps: a loss around 2, a gradient around 1, a learning rate."""
    rng = np.random.default_rng(seed)
    losses = (2.0 * np.exp(noise * rng.standard_normal(count))).tolist()
    norms = np.exp(0.2 * rng.standard_normal(count)).tolist()
    fixed = {"input": 0.0, "lr": 1e-3, "skipped": 0.0, **other}
    return [{"loss": loss, "grad_norm": norm, **fixed} for loss, norm in zip(losses, norms, strict=True)]


def judged(
    steps: Iterable[Mapping[str, float]], policy: Policy | None = None, state: Judgement | None = None
) -> tuple[Judgement, list[Happening]]:
    """The state after some steps, and all that was told."""
    policy = policy or Policy()
    state = state or judging.begin(policy)
    told: list[Happening] = []
    for values in steps:
        state, happened = judging.update(state, Observation(state.clock, 0.0, values), policy)
        told += happened
    return state, told


def warnings(told: Iterable[Happening], kind: Kind | None = None) -> list[Happening]:
    """What is more than a note."""
    return [one for one in told if one.severity is not Severity.NOTE and kind in (None, one.kind)]
