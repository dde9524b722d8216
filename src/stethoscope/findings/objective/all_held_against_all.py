"""Predictions and targets have shapes that broadcast, so that all are held against all.

## What it checks
Losses that broadcast (mean squared, absolute, Huber) and differences that are squared or made positive,
where one side was made a row (`squeeze(1)`, `view(-1)`, `out[:, 0]`) and the other a column
(`unsqueeze(1)`, `view(-1, 1)`, `target[:, :1]`). In what is minimised the shapes are followed further: a last
layer with one unit gives a column, a target that is one number for each sample is a row.

## Why it matters
Shapes (n,) and (n, 1) become (n, n): every prediction is held against every target. The best answer is then
the mean of all targets, the loss ends near their variance, and a metric that is written so says the same of
every network.

## When it is harmless
Losses that are meant to compare all pairs (rankings, kernels, distances) are named so, or compare a thing
with itself. Where a shape is not written down nothing is said.

## References
- torch: "Using a target size that is different to the input size" is only a warning
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.broadcast_sides import broadcast_sides
from stethoscope.program.walk.values import Site
from stethoscope.signals.crossed_axes import CrossedComparisons
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ201", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, minimised: CrossedComparisons | None) -> Iterator[Finding]:
    """Report each comparison of a row with a column."""
    written = broadcast_sides(index(sources.program))
    for sides in written:
        yield _finding(sides.site, sides.row, sides.column, sides.is_measured)
    told = {id(sides.site.node) for sides in written}
    for crossed in minimised.found if minimised is not None else ():
        if id(crossed.site.node) not in told:
            yield _finding(crossed.site, crossed.row, crossed.column, is_measured=False)


def _finding(site: Site, row: str, column: str, is_measured: bool) -> Finding:
    return Finding(
        site.where,
        f"`{row}` is a row and `{column}` a column: each is held against all of the other",
        evidence={"row": row, "column": column, "measured": is_measured},
    )
