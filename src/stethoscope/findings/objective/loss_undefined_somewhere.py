"""A step of the loss is not finite for outputs or data that training is sure to meet.

## What it checks
Logarithms, roots and divisions in everything that is minimised, where nothing keeps their argument away from
zero: a logarithm or a root of what a linear or convolutional layer gave; a logarithm of what a rectifier
gave; a logarithm of pictures that were divided by 255, or a division by them; the root of a square that a
mask makes zero; the root of a variance taken as a difference of means; a division, for each sample, by how
many places a random mask took; a broken power of a raw output; the angle of a cosine that nothing keeps
inside of one; and the root of the squared distances of all samples of a batch to each other, each to itself
among them. Weights that follow from a drawn time step alone are computed for every step that can be drawn.

## Why it matters
The logarithm of zero and a division by zero are infinite, the root at zero has an infinite gradient, and
times a zero of the chain rule that is NaN. One such element is enough: the next step writes NaN into every
weight.

## When it is harmless
A floor of any kind is enough and is seen: `+ eps`, `clamp`, `softplus`, `exp`, a sigmoid, `log1p`. Data that
are known to stay above zero are not judged, whatever is divided by them.

## References
- torch.nn.functional.gaussian_nll_loss, which clamps its variance for this reason
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.unsafe_steps import Unsafe
from stethoscope.signals.unsafe_steps import UnsafeSteps

RULE = Rule(code="OBJ176", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

WHOLE = frozenset({Unsafe.DIVISION, Unsafe.MASKED_ROOT, Unsafe.VARIANCE, Unsafe.NOTHING_DRAWN}) | {
    Unsafe.POWER,
    Unsafe.ANGLE,
    Unsafe.SELF_DISTANCE,
}


def examine(steps: UnsafeSteps) -> Iterator[Finding]:
    """Report each unsafe step."""
    for step in steps.found:
        what = "this is" if step.why in WHOLE else "this takes a logarithm or a root"
        yield Finding(
            where=(step.site.where, step.sink.where),
            message=f"{what} {step.why.value}; nothing in the loss keeps it finite",
            evidence={"step": " ".join(step.site.text.split())[:120]},
        )
    for level in steps.levels:
        yield Finding(
            where=(level.site.where, level.sink.where),
            message=f"at step {level.step:,} of the {level.steps:,} that are drawn this weight is not "
            "finite, and the loss with it",
            evidence={"step": " ".join(level.site.text.split())[:120]},
        )
