"""Training and evaluation pictures have their colours in different orders.

## What it checks
Data sets that a program makes side by side and whose items OpenCV reads: whether the one turns blue, green
and red round into red, green and blue, and the other leaves them as they are read.

## Why it matters
The network sees blue skins and red skies in one of the two. Scores are lower than they should be, more so
where colour matters or each channel is normalised by its own mean, and nothing fails.

## When it is harmless
Both turned, or both left. Pictures of one channel have no order.

## References
- cv2.imread
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.channel_orders import channel_orders
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT745", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pair of data sets that differ in the order of their channels."""
    for pair in channel_orders(index(sources.program)):
        yield Finding(
            (pair.left.where, pair.turned.where),
            f"`{pair.left.text}` stays in blue, green, red; the data set beside it is turned round",
            evidence={"read": pair.left.text},
        )
