"""Positions are counted in a type that cannot count so far.

## What it checks
`torch.arange` that is made in bfloat16 or float16, or turned into it at once, and goes further than the
type counts.

## Why it matters
bfloat16 holds every whole number up to 256, and from there on every second, every fourth and so on; float16
up to 2048. Positions beyond share one number: rotary and sinusoidal embeddings give neighbours the same
angle. Nothing fails, and the model is a little worse at everything that depends on order.

## When it is harmless
Ranges that end before that. Where the end is not written as a number it is only noted: it may be a short
one. Angles that are computed in single precision and cast afterwards are right.

## References
- Wang et al., When Precision Meets Position: BFloat16 Breaks Down RoPE, 2024
- huggingface/transformers pull request 29285: rotary positions in float32
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.half_counts import HalfCounts

RULE = Rule(code="PRC130", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(counts: HalfCounts) -> Iterator[Finding]:
    """Report ranges that go too far, and note those whose end is not known."""
    for one in counts:
        if one.until is not None and one.until <= one.exact + 1:
            continue
        known = one.until is not None
        end = f"goes to {one.until:,.0f}" if known else "goes as far as the input"
        yield Finding(
            one.where,
            f"this range is made in {one.dtype}, which counts to {one.exact:,}, and {end}",
            evidence={"dtype": one.dtype, "until": one.until},
            strength=1.0 if known else 0.0,
            severity=None if known else Severity.NOTE,
            proof=f"{one.exact + 1:,} is no number of the type" if known else "",
        )
