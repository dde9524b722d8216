"""Labels are smoothed so far that little of them is left.

## What it checks
The `label_smoothing` of every cross entropy that training calls, as a number or through the settings: whether
it is a half or more. What a Trainer or a class of timm is told counts from nine tenths on.

## Why it matters
Smoothing takes that share from the right class and spreads it over all. At 0.1 a network is kept from being
too sure; at 0.9, often meant as what the right class keeps, the target is all but uniform, the loss has
hardly anything to fall by, and gradients are a tenth of what they were.

## When it is harmless
Below a half the right class still has the most by far. A study of smoothing itself may go further.

## References
- Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2016, section 7
- torch.nn.CrossEntropyLoss, label_smoothing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.declared_numbers import number
from stethoscope.program.objective.loss_calls import LossCall
from stethoscope.program.settings.exchanged_numbers import smoothed_away
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Where
from stethoscope.signals.loss_calls import LossCalls
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ725", since="0.5", severity=Severity.WARNING, subject=Subject.SOURCE)

MOST = 0.5  # from here on the wrong classes together have as much as the right one


def examine(calls: LossCalls | None, sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each cross entropy whose labels are mostly smoothed away."""
    yield from list(_called(calls or ())) or _told(sources, settings)


def _called(calls: Iterable[LossCall]) -> Iterator[Finding]:
    for call in calls:
        given = call.option("label_smoothing")
        share = number(given) if given is not None else None
        if share is not None and share >= MOST:
            yield _finding(call.site.where, share)


def _told(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in smoothed_away(index(sources.program), tree):
        yield _finding(one.spot.where, one.number or 0.0)


def _finding(where: Where, share: float) -> Finding:
    return Finding(
        where,
        f"label_smoothing is {share:g}: the right class keeps {1 - share:g}, all share the rest",
        evidence={"label_smoothing": share},
    )
