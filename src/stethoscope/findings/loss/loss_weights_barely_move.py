"""The dynamic loss weights hardly change, so they cannot have changed the result.

## What it checks
The logged weight of every loss term, relative to its first value. When none of them ever leaves its start
by more than 5 %, the largest deviation bounds what the weighting can have done to the loss.

## Why it matters
A scheduler of loss weights is easily blamed, and easily tuned for days. A bound on its influence settles
the question: terms that were scaled by at most 0.4 % are, for the optimiser, terms that were not scaled.

## When it is harmless
It is a fact about the run, not a fault.

## References
- Each gradient is linear in its term's weight, so a relative bound on the weights is one on the gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss_weights import LossWeights

RULE = Rule(code="LOS201", since="0.1", severity=Severity.NOTE)

BARELY = 0.05
LEAST_POINTS = 3
DYNAMIC = ("dynamic", "adaptive", "auto")


def examine(weights: LossWeights) -> Iterator[Finding]:
    """State the bound when every weight stays near its start."""
    ranges = {term: _range(series) for term, series in weights.weights.items() if series.values[0] != 0.0}
    if not ranges or all(len(series) < LEAST_POINTS for series in weights.weights.values()):
        raise InsufficientData("the loss weights were logged too seldom to say whether they move")
    low, high = min(low for low, _ in ranges.values()), max(high for _, high in ranges.values())
    bound = max(abs(low - 1.0), abs(high - 1.0))
    if bound > BARELY or (bound == 0.0 and not _called_dynamic(weights)):
        return
    series = [weights.weights[term] for term in ranges]
    yield Finding(
        tuple(one.where() for one in series),
        f"dynamic weights stay within {low:.4f} to {high:.4f} of their start: they can have changed the loss "
        f"by at most {_percent(bound)}",
        {"bound": bound, "lowest": low, "highest": high, "terms": ", ".join(ranges)},
        proof="the loss is linear in its weights",
    )


def _range(series: Series) -> tuple[float, float]:
    relative = series.values / series.values[0]
    return float(np.min(relative)), float(np.max(relative))


def _called_dynamic(weights: LossWeights) -> bool:
    """Whether constant weights belong to something that calls itself dynamic; fixed weights are no news."""
    return any(word in one.logged_as.lower() for one in weights.weights.values() for word in DYNAMIC)


def _percent(bound: float) -> str:
    return f"{100.0 * bound:.1g} %" if bound < 0.01 else f"{100.0 * bound:.1f} %"
