"""Samples with too few channels are filled up with channels of zeros.

## What it checks
The functions that make samples, those of data sets and transforms and what they call: whether zeros are
joined to an image or a recording there, as many as its number of channels lacks.

## Why it matters
A network that is trained on some samples with an empty channel learns to tell them apart by it, and to rely
on what is empty. Its first layer and its normalisation see a distribution of two kinds: statistics are
drawn towards zero, and at use the channel is either always there or never.

## When it is harmless
A channel that says something by its zeros (a mask, a condition, an alpha plane) is not this, nor is code
that keeps beside the sample which of its channels are real. Where a network never sees another kind of
sample, the empty channel only costs time.

## References
- empty-channels-in-loss tells where such channels are counted in the loss as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.padding import CHANNELS
from stethoscope.signals.made_channels import EmptyChannels
from stethoscope.signals.padding import PaddingInLoss

RULE = Rule(code="DAT107", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(channels: EmptyChannels, padding: PaddingInLoss | None) -> Iterator[Finding]:
    """Report each filling that no other rule tells of."""
    reaching = padding.seen.reaching if padding is not None else ()
    told = {one.made.where for one in reaching if one.kind == CHANNELS}
    for found in channels.found:
        if not told & {found.joined.where, found.made.where}:
            yield Finding(
                where=(found.joined.where, found.made.where),
                message="channels of zeros are joined to real ones: the network gets samples of two kinds",
                evidence={"joined": found.joined.text, "zeros": found.made.text},
            )
