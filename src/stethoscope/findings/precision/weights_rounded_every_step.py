"""Each round of training rounds the weights to half precision.

## What it checks
Training loops that go through the weights with every update and write each of them back by way of half
precision: `weight.data = weight.data.bfloat16().float()`, `weight.copy_(weight.half())`.

## Why it matters
bfloat16 keeps 8 bits of a number and float16 keeps 11. An update that is smaller than half of the last bit
is gone before the next one comes, and at usual learning rates nearly every update is. The loss falls at
first and then stands still, whatever the rate does.

## When it is harmless
A half copy beside the weights, for sending or saving, and weights that are written from a float32 copy of
them (`weight.copy_(master.half())`): the copy keeps the rest. Rounding that a condition lets in now and
then, as before a validation.

## References
- Zamirai et al., "Revisiting BFloat16 Training"
- half-weights-trained tells of weights that are half from the start.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.precision.rounded_weights import rounded_weights
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="PRC186", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each place at which the weights are rounded with every update."""
    told: set[Where] = set()
    for loop in loops:
        for found in rounded_weights(loop):
            if found.site.where in told:
                continue
            told.add(found.site.where)
            yield Finding(
                found.site.where,
                f"every update is followed by a rounding of the weights to {found.dtype.value}, and no copy "
                "of them keeps what that takes away",
                evidence={"type": found.dtype.value, "written": found.site.text},
                proof="the weight is written back from itself, by way of half precision, in each round",
            )
