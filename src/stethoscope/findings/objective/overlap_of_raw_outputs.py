"""An overlap with a mask is taken of outputs that were never made probabilities.

## What it checks
Quotients of the kind `2 * sum(p * m) / (sum(p) + sum(m))`, which Dice and IoU losses are made of, in
everything that is minimised: whether p is what a linear or convolutional layer gave, with no sigmoid or
softmax since.

## Why it matters
An overlap is a share only while p lies between zero and one. Raw outputs have any sign, so the sum below the
line comes near zero or below, the quotient leaps, and large outputs of one sign win whatever the mask says.

## When it is harmless
Outputs whose last step is not seen, such as those of a network from a library, are not judged.

## References
- Milletari et al., V-Net, 2016
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.raw_overlaps import RawOverlaps

RULE = Rule(code="OBJ724", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(overlaps: RawOverlaps) -> Iterator[Finding]:
    """Report each overlap of raw outputs."""
    for one in overlaps.found:
        text = " ".join(one.site.text.split())[:80]
        yield Finding(
            (one.site.where, one.layer.where),
            f"`{text}` is taken of the raw outputs of a layer: nothing makes them probabilities",
            evidence={"quotient": text},
        )
