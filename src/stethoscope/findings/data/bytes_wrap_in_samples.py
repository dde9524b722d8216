"""Pictures are subtracted as bytes when samples are made, and wrap around.

## What it checks
Functions that make samples: whether two arrays that are known to hold bytes (read from pictures and not
converted, or cast to `uint8`) are subtracted.

## Why it matters
A byte has no negative numbers: 3 - 5 is 254. A small darkening becomes a white spot, so that differences of
frames, of a picture and its background, or of two exposures are noise wherever they are small.

## When it is harmless
Arrays that are made signed or floating first. Masks of zeros and ones may be subtracted where the one lies
inside the other, and are left alone.

## References
- numpy's integer overflow
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.bytes_in_samples import bytes_in_samples
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT746", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each difference of bytes in a sample."""
    for site in bytes_in_samples(index(sources.program)):
        yield Finding(
            site.where,
            f"`{site.text}` is a difference of bytes, which wraps around at zero",
            evidence={"difference": site.text},
        )
