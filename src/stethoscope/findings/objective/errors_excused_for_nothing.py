"""An output weighs the errors of the others, and nothing makes it pay for that.

## What it checks
Each loss of a network that gives a prediction and something beside it, such as a spread or a confidence. The
whole loss is computed for errors of a few sizes while the second output moves from one end to the other:
whether it falls all the way whatever the error, until errors hardly count any more.

## Why it matters
In a likelihood a wide spread costs its own logarithm. Without that term, or with its sign turned, the easiest
way to a small loss is to be unsure of everything: the loss falls evenly, far below what the data allow, and
the prediction stops learning as its errors stop counting.

## When it is harmless
A second output that another term holds has its best value somewhere between the ends. Where another function
trains it, where it is detached, or where the loss cannot be computed as a whole, nothing is said.

## References
- Nix and Weigend, Estimating the Mean and Variance of the Target Probability Distribution, 1994
- Kendall and Gal, What Uncertainties Do We Need in Bayesian Deep Learning for Computer Vision?, 2017
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.excused_errors import ExcusedErrors

RULE = Rule(code="OBJ870", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(errors: ExcusedErrors) -> Iterator[Finding]:
    """Report each loss in which being unsure is free."""
    for one in errors.found:
        yield Finding(
            where=tuple(dict.fromkeys((one.site.where, one.sink.where))),
            message="one output can make every error cheap and pays nothing for it: the loss falls on and on",
            evidence={"usual": round(one.usual, 4), "excused": round(one.excused, 4)},
            strength=0.95,
        )
