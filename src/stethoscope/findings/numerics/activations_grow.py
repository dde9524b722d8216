"""Activations grow many times over and have not come to rest.

## What it checks
The sizes of activations that were logged, layer by layer: whether any has grown many times over since the
network settled and still grows at the end.

## Why it matters
In networks that add each layer to the last, what is added up grows if nothing holds it. In half precision
it ends at 65504, in any precision the share of what later layers add gets lost in it.

## When it is harmless
Sizes move while the first features form; the first quarter of the run is not counted. A growth of a few
times over a long run is usual, and so is one that levels off.

## References
- Takase et al., Spike No More, 2023; Fishman et al., Scaling FP8 training, 2024
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.lasting_growth import Growth, lasting_growth
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.inner_sizes import InnerSizes, Kind

RULE = Rule(code="NUM133", since="0.3", severity=Severity.WARNING)

TIMES = 10.0


def examine(sizes: InnerSizes) -> Iterator[Finding]:
    """Fire on the layer that grows most, and say how many others do."""
    series = sizes.of(Kind.ACTIVATION)
    if not series:
        raise InsufficientData(
            "no sizes of activations were logged", 'log({"act_max": hidden.abs().max().item()})'
        )
    grown = [(one, growth) for one in series if (growth := lasting_growth(one, TIMES)) is not None]
    if grown:
        most = max(grown, key=lambda pair: pair[1].times)
        yield _finding(*most, len(grown) - 1)


def _finding(series: Series, growth: Growth, others: int) -> Finding:
    more = f"; so have {others} others" if others > 1 else "; so has one other" if others else ""
    return Finding(
        series.where(growth.onset, int(series.steps[-1])),
        f"{series.logged_as} has grown from {growth.first:.3g} to {growth.last:.3g} "
        f"and has not come to rest{more}",
        evidence={"first": growth.first, "last": growth.last, "times": growth.times},
        onset=growth.onset,
    )
