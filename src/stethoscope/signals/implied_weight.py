"""The weight of a loss term that the log gives away: what the total holds beyond one term, over another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Run, Series, Values
from stethoscope.signals.missing import Missing

LEAST_POINTS = 12
MOST_CANDIDATES = 8
STEADY = 0.05  # relative noise of a weight
STEADIER = 0.25  # of the noise of its own term: no accident gives such a quotient
NO_TERMS = ("val", "lr", "grad_norm", "update_ratio", "param_norm", "loss_scale", "step_time", "throughput")
LOG_THIS = 'log({"loss": total.item(), "loss/data": data.item(), "loss/prior": prior.item()})'


@dataclass(frozen=True, slots=True, eq=False)
class ImpliedWeight:
    """The total, the term that is in it as it stands, another term, and that one's weight at each step."""

    total: Series
    main: Series
    other: Series
    weight: Values

    @property
    def share(self) -> Values:
        """The share of the total that the main term makes up."""
        return self.main.values / self.total.values


def measure(run: Run) -> ImpliedWeight | Missing:
    """Find the two series whose sum, one of them weighted, is the total."""
    total = run.series.get("loss")
    if total is None or len(total) < LEAST_POINTS or not _is_positive(total):
        return Missing("no total loss was logged beside its terms", LOG_THIS)
    candidates = [one for name, one in run.series.items() if name != "loss" and _may_be_term(one, total)]
    pairs = [pair for pair in _pairs(total, candidates[:MOST_CANDIDATES]) if _is_steady(pair)]
    if not pairs:
        return Missing("the logged terms do not add up to the total", LOG_THIS)
    return min(pairs, key=lambda pair: noise_sd(np.log(pair.weight)))


def _may_be_term(one: Series, total: Series) -> bool:
    known = one.name.split("/")[0] in NO_TERMS
    return not known and np.array_equal(one.steps, total.steps) and _is_positive(one)


def _is_positive(series: Series) -> bool:
    return bool(np.isfinite(series.values).all()) and float(series.values.min()) > 0.0


def _pairs(total: Series, candidates: list[Series]) -> Iterator[ImpliedWeight]:
    for main, other in permutations(candidates, 2):
        weight = (total.values - main.values) / other.values
        if float(weight.min()) > 0.0:
            yield ImpliedWeight(total, main, other, weight)


def _is_steady(pair: ImpliedWeight) -> bool:
    """Whether the weight is so much calmer than its own term that it is one."""
    noise = noise_sd(np.log(pair.weight))
    return noise < STEADY and noise < STEADIER * noise_sd(np.log(pair.other.values))
