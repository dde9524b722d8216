"""A picture is given another shape to put its colours first, which mixes its pixels up.

## What it checks
A picture that OpenCV or Pillow has read, with its colours last, and that `reshape` or `view` cuts into three
channels, where nothing has turned its axes.

## Why it matters
A reshape keeps the numbers in their order: the first "channel" is the upper third of the picture, each of its
rows a third of a row with red, green and blue side by side. Networks learn something even of that, so the
loss falls; what pretrained weights and convolutions are good for is lost.

## When it is harmless
Never, where the picture is as it was read. `permute(2, 0, 1)` and `transpose(2, 0, 1)` turn the axes; a
reshape of what has been turned, or of raw bytes with the colours first, is not reported.

## References
- `torch.Tensor.permute`, `numpy.transpose`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.reshaped_pictures import reshaped_pictures
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT820", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each picture that is cut anew instead of turned."""
    for site in reshaped_pictures(index(sources.program)):
        yield Finding(
            site.where,
            f"a picture is reshaped to put its colours first, which mixes its pixels: `{site.text[:80]}`",
            evidence={"reshape": site.text},
        )
