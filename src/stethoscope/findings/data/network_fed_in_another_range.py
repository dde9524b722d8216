"""The network is fed in another range in evaluation than in training.

## What it checks
What is done to the numbers of a file, an array or a data set on their way into the network, in training and
in evaluation: both ways are followed back to what is read, and computed. Reported are evaluations that read
what training reads and end in another range: scaled under a condition that only one split meets, in the
loop of one of them only, or once more on one way.

## Why it matters
The network meets numbers that it has never seen, so that the scores say nothing of what it has learnt: they
stand still or fall while the training loss improves, and it looks like overfitting.

## When it is harmless
Noise, crops, flips and mixtures that leave the range as it is are fine on one way only. Where a way depends
on what is not known (an augmentation from outside, statistics of the data, a transform) nothing is said.

## References
- Range checks of one batch: `x.min(), x.max(), x.mean()` before the network, in both loops
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.input_scales import FedApart, fed_apart, fed_apart_in_steps, scale_and_shift
from stethoscope.program.evaluation.step_pairs import step_pairs
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="DAT200", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each evaluation whose network is fed in another range."""
    seen: set[object] = set()
    for apart in _all(evaluations):
        if apart.evaluation.node in seen:
            continue
        seen.add(apart.evaluation.node)
        steps = (apart.step.where,) if apart.step is not None else ()
        yield Finding(
            tuple(dict.fromkeys((*steps, apart.evaluation.where, apart.training.where))),
            f"training feeds its network {_spoken(apart.trained)} of what is read,"
            f" and this evaluation {_spoken(apart.judged)}",
            evidence={"training": _spoken(apart.trained), "evaluation": _spoken(apart.judged)},
        )


def _all(evaluations: Evaluations) -> Iterator[FedApart]:
    for walk in evaluations.walks:
        yield from fed_apart(walk)
    for pair in step_pairs(evaluations.index, evaluations.settings):
        yield from fed_apart_in_steps(pair.run, pair.trained, pair.judged)


def _spoken(outcome: tuple[float, float]) -> str:
    scale, shift = scale_and_shift(outcome)
    times = "x" if abs(scale - 1) < 1e-9 else f"{scale:.4g} * x"
    return times if abs(shift) < 1e-9 else f"{times} {'+' if shift > 0 else '-'} {abs(shift):.4g}"
