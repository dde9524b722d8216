"""Pictures are subtracted as bytes, which wrap around at zero.

## What it checks
Differences of two arrays that are known to be bytes, by `astype(np.uint8)`, `.byte()` or a picture that was
just read: whether they are made a float or a wider integer before. Calls are followed, so that a metric is
judged by what it is given.

## Why it matters
Of bytes, 3 - 5 is 254. Small errors below zero count as the largest ones there are, so that the score says
little of the pictures, and a better network may score worse.

## When it is harmless
`cv2.absdiff` and casts before the difference are fine. Where the type of a picture is not seen nothing is
said.

## References
- numpy: integer overflow is silent for arrays
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.validation_hooks import validation_walks
from stethoscope.program.evaluation.wrapping_bytes import wrapping_differences
from stethoscope.program.walk.values import Site
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA202", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each difference of bytes once."""
    seen: set[object] = set()
    for walk in (*evaluations.walks, *validation_walks(evaluations.index, evaluations.settings)):
        for difference, led_here in wrapping_differences(walk):
            if difference.node in seen:
                continue
            seen.add(difference.node)
            yield Finding(
                tuple(dict.fromkeys((difference.where, led_here.where))),
                f"`{_short(difference)}` is a difference of bytes, which wraps around at zero",
                evidence={"difference": difference.text},
            )


def _short(site: Site) -> str:
    return " ".join(site.text.split())[:80]
