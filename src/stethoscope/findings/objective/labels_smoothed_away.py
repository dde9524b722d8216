"""Labels are smoothed so far that little of them is left.

## What it checks
The `label_smoothing` of every cross entropy that training calls, as a number or through the settings: whether
it is a half or more.

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

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.declared_numbers import number
from stethoscope.signals.loss_calls import LossCalls

RULE = Rule(code="OBJ725", since="0.5", severity=Severity.WARNING, subject=Subject.SOURCE)

MOST = 0.5  # from here on the wrong classes together have as much as the right one


def examine(calls: LossCalls) -> Iterator[Finding]:
    """Report each cross entropy whose labels are mostly smoothed away."""
    for call in calls:
        given = call.option("label_smoothing")
        share = number(given) if given is not None else None
        if share is not None and share >= MOST:
            yield Finding(
                call.site.where,
                f"label_smoothing is {share:g}: the right class keeps {1 - share:g}, all share the rest",
                evidence={"label_smoothing": share},
            )
