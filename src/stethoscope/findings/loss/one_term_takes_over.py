"""One term makes up the total loss, and what is measured has no say in it.

## What it checks
Where two logged terms add up to the total, one as it stands and the other with a weight, that weight is
known at every step: it is far calmer than its own term. Two things are looked for. *Unheard*: the term that
validation measures by the same name is never more than a twentieth of the total, and the weight of the other
is constant; it is a warning where that term has kept three fifths of its first level. *Driven*: the weight
grows tenfold or more, and the total rises well above its lowest level while the terms themselves do not rise
as much.

## Why it matters
The optimizer follows the total. A term that is a small part of it is learned by the way, whatever the rate; a
weight that runs away turns training to a term that nobody asks for, and a total that rises by its weight is
no divergence.

## When it is harmless
A weight that grows by plan, such as that of a divergence from a prior, raises the total as well. A large term
that hardly has a gradient takes nothing from the others. That is why this is a note where the small term is
learned all the same.

## References
- Chen et al. 2018, GradNorm: gradient normalization for adaptive loss balancing
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import smoothed
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.implied_weight import ImpliedWeight
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS401", since="0.7", severity=Severity.WARNING)

UNHEARD = 0.05  # of the total
UNLEARNED = 0.6  # of its first level
CONSTANT = 0.05  # the relative range of a weight that nobody changes
GROWS = 10.0
RISES = 1.3  # times its lowest level so far
BEYOND = 1.2  # times what any term rises


def examine(implied: ImpliedWeight, validation: Validation | None) -> Iterator[Finding]:
    """Note a term that is not heard, or one whose weight drives the total."""
    weight = implied.weight
    where = tuple(one.where() for one in (implied.total, implied.main, implied.other))
    told = {"term": implied.other.name, "first": float(weight[0]), "last": float(weight[-1])}
    if _is_unheard(implied, validation):
        unlearned = _keeps_its_level(implied.main.values)
        yield Finding(
            where,
            f"{implied.main.name} is at most {float(implied.share.max()):.1%} of {implied.total.name}: "
            f"the rest is {implied.other.name}, {float(np.median(weight)):.3g} times",
            {**told, "unheard": True, "driven": False, "unlearned": unlearned},
            severity=None if unlearned else Severity.NOTE,
        )
    elif _is_driven(implied):
        yield Finding(
            where,
            f"the weight of {implied.other.name} goes from {weight[0]:.3g} to {float(weight.max()):.3g}, and "
            f"{implied.total.name} rises by it",
            {**told, "unheard": False, "driven": True},
            onset=int(implied.total.steps[int(np.argmax(weight > GROWS * weight[0]))]),
            severity=Severity.NOTE,
        )


def _is_unheard(implied: ImpliedWeight, validation: Validation | None) -> bool:
    """Whether validation measures the small term, and not the large one."""
    measured = {name.rpartition("/")[2] for name in validation.metrics} if validation else set()
    main, other = (one.name.rpartition("/")[2] for one in (implied.main, implied.other))
    constant = float(np.ptp(implied.weight)) <= CONSTANT * float(np.median(implied.weight))
    return main in measured and other not in measured and constant and float(implied.share.max()) < UNHEARD


def _keeps_its_level(values: Values) -> bool:
    level = levels(values)
    return float(level[-1]) > UNLEARNED * float(level[0])


def _is_driven(implied: ImpliedWeight) -> bool:
    """Whether the total rises further than constant weights allow: by as much as a term does, at most."""
    if float(implied.weight.max()) < GROWS * float(implied.weight[0]):
        return False
    total, main, other = (_calm(one.values) for one in (implied.total, implied.main, implied.other))
    lowest = np.minimum.accumulate(total)
    high = int(np.argmax(total / lowest))
    low = int(np.argmin(total[: high + 1]))
    rise = float(total[high] / total[low])
    allowed = max(float(main[high] / main[low]), float(other[high] / other[low]))
    return rise > RISES and rise > BEYOND * allowed


def _calm(values: Values) -> Values:
    width = max(1, len(values) // 20)
    return smoothed(values, width)[width - 1 :]
