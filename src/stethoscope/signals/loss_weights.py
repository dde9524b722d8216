"""The weights of the loss terms, where the run changes and logs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.run import Run, Series
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class LossWeights:
    """The finite weight of each term over the run, by term name."""

    weights: Mapping[str, Series]


def measure(run: Run) -> LossWeights | Missing:
    """Collect the logged weights."""
    weights = {term: one.finite() for term, one in run.family("weight").items() if len(one.finite())}
    if not weights:
        return Missing(
            "no loss weights were logged",
            'log({f"weight/{term}": weight for term, weight in weights.items()})',
        )
    return LossWeights(weights)
