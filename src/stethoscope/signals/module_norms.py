"""The gradient norms of single modules, at the steps at which all of them were logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Run, Series, Steps, Values
from stethoscope.signals.missing import Missing

LOG_THIS = 'log({f"grad_norm/{name}": p.grad.norm().item() for name, p in model.named_parameters()})'


@dataclass(frozen=True, slots=True, eq=False)
class ModuleNorms:
    """By module: the series as logged, and its values at the common steps."""

    steps: Steps
    values: Mapping[str, Values]
    series: Mapping[str, Series]


def measure(run: Run) -> ModuleNorms | Missing:
    """Find the norms by module, and the steps they share."""
    found = {name.lower(): one.finite() for name, one in run.family("grad_norm").items()}
    found = {name: one for name, one in found.items() if len(one) > 1}
    if len(found) < 2:
        return Missing("gradient norms were not logged by module", LOG_THIS)
    longest = max(len(one) for one in found.values())
    found = {name: one for name, one in found.items() if 2 * len(one) >= longest}
    steps: Steps = next(iter(found.values())).steps
    for one in found.values():
        steps = np.intersect1d(steps, one.steps)
    values = {name: one.values[np.isin(one.steps, steps)] for name, one in found.items()}
    return ModuleNorms(steps, values, found)
