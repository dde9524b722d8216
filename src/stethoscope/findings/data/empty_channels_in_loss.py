"""Images are filled up with empty channels, which count in the loss like real ones.

## What it checks
What a loss is computed from is followed back through the batch into the data set. Where channels of zeros
are joined to an image there, and nothing on the way takes them out of the loss again, they are part of the
target.

## Why it matters
Empty channels are predicted perfectly after a few steps. They dilute the loss: with one real channel of
four the headline figure is a quarter of the real error, and data sets with fewer channels seem easier.
Gradients of the real channels shrink by the same factor.

## When it is harmless
Channels that are only an input (a mask, coordinates, an alpha plane) never meet the loss. A loss that picks
the real channels or weighs them is not concerned.

## References
- the origin of the diffusion-prior case of the clinic
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.padding import CHANNELS
from stethoscope.signals.padding import PaddingInLoss

RULE = Rule(code="DAT103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(padding: PaddingInLoss) -> Iterator[Finding]:
    """Report each filling with empty channels that reaches a loss."""
    for padded in padding.seen.reaching:
        if padded.kind == CHANNELS:
            yield Finding(
                where=(padded.made.where, padded.sink.where),
                message="channels of zeros are added here, and they count in the loss",
                evidence={"padding": padded.made.text, "backward": padded.sink.text},
            )
