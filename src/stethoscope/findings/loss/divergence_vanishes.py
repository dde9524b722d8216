"""The code of an autoencoder says nothing: its divergence from the prior vanishes.

## What it checks
Where a reconstruction and a Kullback-Leibler term are logged side by side: whether the divergence was ever
there and ends below a hundredth of a nat, in training and where it is logged in validation as well.

## Why it matters
The divergence is how many nats the code tells about its input. At zero the decoder answers every input alike,
and the reconstruction stays at that of the average sample. It comes of terms that are out of proportion: a
reconstruction that is a mean over pixels beside a divergence that is a sum, or a weight of the latter that is
far too large.

## When it is harmless
A divergence that is still small while its weight is raised, or at the start of a run, grows again. A term
between two outputs (distillation, policies that are held near another) may well vanish: without a
reconstruction beside it nothing is said.

## References
- Bowman et al., Generating Sentences from a Continuous Space, 2016: posterior collapse
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import words

RULE = Rule(code="LOS340", since="0.5", severity=Severity.WARNING)

DIVERGENCES = frozenset({"kl", "kld", "kldiv"})
RECONSTRUCTIONS = frozenset({"recon", "recons", "reconstruction", "rec", "reconst"})
NOTHING = 0.01  # nats: one sample in a hundred is told from another
LITTLE = 1.0  # nats: not one choice between three that the code could tell
MOST_IS_LOST = 20.0  # times the divergence: what the reconstruction still misses
LEAST_VALUES = 10
TAIL = 4  # the last quarter stands for the end


def examine(every: EverySeries) -> Iterator[Finding]:
    """Fire where every logged divergence ends at nothing."""
    beside = [series for name, series in every.series.items() if words(name) & RECONSTRUCTIONS]
    told = [series.finite() for name, series in every.series.items() if words(name) & DIVERGENCES]
    long = [series for series in told if len(series) >= LEAST_VALUES]
    if not beside or not long:
        raise InsufficientData("no divergence is logged beside a reconstruction", 'log({"kl": kl.item()})')
    if all(map(_ends_at_nothing, told)) and any(map(_was_there, long)):
        first = long[0]
        yield Finding(
            (first.where(), beside[0].where()),
            f"{first.name} ends at {_end(first):.2g} nats: the code tells nothing about its input",
            {"series": first.name, "end": _end(first), "little": False},
        )
    elif all(map(_ends_at_little, told)) and min(map(_end, beside)) > MOST_IS_LOST * max(map(_end, told)):
        first = long[0]
        yield Finding(
            (first.where(), beside[0].where()),
            f"{first.name} ends at {_end(first):.2g} nats, and nearly all of the loss is reconstruction",
            {"series": first.name, "end": _end(first), "little": True},
            severity=Severity.NOTE,
        )


def _ends_at_nothing(series: Series) -> bool:
    return len(series) == 0 or abs(_end(series)) < NOTHING


def _ends_at_little(series: Series) -> bool:
    return len(series) == 0 or 0.0 < _end(series) < LITTLE


def _was_there(series: Series) -> bool:
    """Whether it came down to nothing, and is no number that is never anything else."""
    return float(series.values.max()) > 2.0 * max(_end(series), 0.0)


def _end(series: Series) -> float:
    return float(np.median(series.values[-max(1, len(series) // TAIL) :]))
