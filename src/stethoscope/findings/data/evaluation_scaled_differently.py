"""The data of an evaluation is standardised otherwise than the data of training.

## What it checks
The data sets behind the loaders of training and of evaluation, as their own code makes an item: whether
both subtract and divide, and by the same statistics. Reported are evaluations that are left as they are,
that go by other numbers, or that go by the statistics of their own data set.

## Why it matters
The network meets inputs that are shifted and scaled against everything it was trained on. Where a held-out
set is scaled by its own statistics the difference between the two sets is taken out, and a single new sample
cannot be scaled that way at all.

## When it is harmless
Items that are standardised one by one, each by its own mean, are treated alike in both. A scale fitted on the
training data and used for both is right. Where a transform that is not known lies on the way, or the loop of
the evaluation scales what it draws, nothing is said.

## References
- sklearn.preprocessing.StandardScaler, `fit` on training data and `transform` on the rest
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.data_scaling import ScaledApart
from stethoscope.program.data.standardisation import Kind
from stethoscope.signals.data_scaling import ScaledData

RULE = Rule(code="DAT106", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(data: ScaledData) -> Iterator[Finding]:
    """Report each evaluation that is scaled apart from its training."""
    for apart in data.seen.apart:
        judged = (apart.judged.site.where,) if apart.judged is not None else ()
        asked = (apart.trained.asked.where,) if apart.trained.asked is not None else ()
        fitted = (apart.fitted.where,) if apart.fitted is not None else ()
        places = (apart.dataset.where, *fitted, *judged, *asked, apart.trained.site.where, apart.loader.where)
        yield Finding(
            where=tuple(dict.fromkeys(places)),
            message=_message(apart),
            evidence={
                "training": apart.trained.site.text,
                "evaluation": apart.judged.site.text if apart.judged is not None else "",
            },
        )


def _message(apart: ScaledApart) -> str:
    if apart.judged is None:
        return "the data of this evaluation is not standardised, and that of training is"
    if apart.trained.kind is Kind.ITEM and apart.judged.kind is not Kind.ITEM:
        return "samples of training are standardised each by itself, and those of this evaluation are not"
    if apart.judged.kind is Kind.ITEM and apart.trained.kind is not Kind.ITEM:
        return "samples of this evaluation are standardised each by itself, and those of training are not"
    if apart.judged.kind is Kind.OWN:
        return "the data of this evaluation is standardised by its own statistics, not by those of training"
    return "the data of this evaluation is standardised by other numbers than that of training"
