"""The finding that a run was cut short in one of some ways."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

SAYS_SO = "the output of the run says so in its own words"


def cut_short_by(end: AbruptEnd, *manners: Manner, what: str, proof: str = SAYS_SO) -> Iterator[Finding]:
    """Say what cut the run short, and where that is said; a note where the training was over."""
    seen = end.by(*manners)
    if seen is None:
        return
    step = seen.event.step if seen.event.step is not None and seen.event.step > 0 else None
    when = "after the training had ended" if end.afterwards else f"at step {step:,}" if step else ""
    place = f" (raised in {seen.raised_in})" if seen.raised_in else ""
    yield Finding(
        seen.where,
        f"{' '.join(filter(None, (what, when)))}: {seen.quote}{place}",
        {
            "manner": str(seen.manner),
            "said": seen.quote,
            "raised_in": seen.raised_in,
            "step": step,
            "after_the_end": end.afterwards,
        },
        onset=step,
        proof=proof,
        severity=Severity.NOTE if end.afterwards else None,
    )
