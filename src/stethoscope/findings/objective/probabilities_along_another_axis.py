"""The scores of a classifier are made probabilities over samples or places, and not over the classes.

## What it checks
Each likelihood of labels that is minimised and made of a softmax (`nll_loss`, or a `gather` by the labels,
of a `log_softmax`). It is computed on scores of several shapes: a gain that all classes of a sample have in
common must leave it as it is. Where only a gain that all samples, places or rows have in common for a class
does, the softmax runs along these. How many axes the scores have is known from the network, where it can be
computed; else every way to read them must say the same.

## Why it matters
The probabilities of one place then depend on all others, and no class competes with another: the network
learns where in the row a class is most likely, and the loss, which begins near the logarithm of another
number, falls all the same. What is chosen by the largest score afterwards was never asked for.

## When it is harmless
Contrastive losses hold all samples against all on purpose; their labels count samples, and they are square,
so that both readings fit and nothing is said. Pointers into a sequence pick a place, and their softmax over
places is one over what the labels number.

## References
- torch.nn.functional.log_softmax: `dim`, the dimension along which it is computed
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.scores_along import ScoreAxes

RULE = Rule(code="OBJ890", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(axes: ScoreAxes) -> Iterator[Finding]:
    """Report each softmax that is taken along another axis than that of the classes."""
    for one in axes.found:
        yield Finding(
            (one.soft.where, one.picked.where),
            f"`{one.soft.text}` sums to one along axis {one.along} of scores of shape {one.shape}, and the "
            f"labels pick along axis {one.classes}",
            evidence={"along": one.along, "classes": one.classes, "shape": str(one.shape)},
        )
