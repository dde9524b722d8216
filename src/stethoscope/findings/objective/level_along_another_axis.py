"""The noise levels of the samples are counted along the last axis of the data.

## What it checks
Products of a row of levels, one number for each sample (`abar[t]` with steps drawn with shape `(B,)`), with
what goes into a network of convolutions, where nothing gives the row the axes of the data.

## Why it matters
Broadcasting counts from the last axis: with a batch as large as the pictures are wide, every column gets the
level of another sample. The network is told a level that is true of one column in each picture, learns to
take out the average noise, and what it samples has stripes. Where the sizes differ the program would stop.

## When it is harmless
A row that is reshaped (`view(-1, 1, 1, 1)`, `[:, None, None, None]`, a helper that does it) or drawn with the
axes of the data is right. Networks without convolutions may be given rows, and are left alone.

## References
- NumPy: broadcasting rules
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.denoising import DenoisingObjective

RULE = Rule(code="OBJ310", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(objective: DenoisingObjective) -> Iterator[Finding]:
    """Report each row of levels that multiplies data of more axes."""
    for flat in objective.seen.flat:
        yield Finding(
            (flat.product.where, flat.drawn.where),
            f"`{flat.product.text}` has one level for each sample, and counts them along the last axis of "
            "the data: every column gets the level of another sample",
            evidence={"product": flat.product.text, "drawn": flat.drawn.text},
            proof="shapes are aligned at their last axes, and a convolution needs at least three",
        )
