"""A logged average is not the average it is taken for.

## What it checks
Sums over batches that are read as averages: a sum or a meter that is begun before the loop over epochs and
never set back inside it, while it is divided by the batches of one epoch; a sum whose unit is not that of
its divisor: the means of batches divided by samples, means times the size of their batch divided by batches
or by the targets that are not padding, means of batches divided by their targets, and means over targets
made to sums and divided by samples, where they go by the name of the loss that training minimises; a sum
that an evaluation keeps for its next call, in a default or in a name of the file; a sum over one loader that
is divided by the length of another; a sum that the loop over batches sets back to zero, or whose loop is left
behind its first batch.

## Why it matters
A sum that is never set back grows with every epoch, and a meter that is never reset averages over the whole
past: the curve rises while the model improves, or lags behind and looks smoother than it is. A sum that
begins anew with every batch is that of the last one, which is mostly noise. A wrong count shifts the level by
the size of a batch. Decisions follow the number and not the model.

## When it is harmless
A mean since the beginning, divided by a count that is not set back either, is what it says. A loss that is
already a sum (`reduction="sum"`) belongs over the number of samples, and a score of whole sequences or images
is one of its own.

## References
- torchmetrics, Metric.reset
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.counted_units import unit_mismatches
from stethoscope.program.evaluation.kept_sums import kept_sums
from stethoscope.program.evaluation.totals import wrong_totals
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="EVA141", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each sum that is read as something else than it is."""
    seen: set[object] = set()
    for total in wrong_totals(evaluations.index):
        if total.read not in seen:
            seen.add(total.read)
            yield Finding(
                (total.source.where(total.read), total.source.where(total.grows)),
                f"`{total.name}` {total.why}",
                evidence={"sum": total.name},
            )
    for kept in kept_sums(evaluations.index):
        if kept.divided not in seen:
            seen.add(kept.divided)
            yield Finding(
                (kept.source.where(kept.divided), kept.source.where(kept.grows)),
                f"`{kept.name}` goes on from where the last call left it: it lives in {kept.kept_in}",
                evidence={"sum": kept.name},
            )
    for one in unit_mismatches(evaluations.index):
        if one.divided.node not in seen:
            seen.add(one.divided.node)
            yield Finding(
                (one.divided.where, one.added.where),
                f"`{one.name}` sums over {one.summed.value} and is divided by the {one.counted.value}",
                evidence={"sum": one.name},
            )
