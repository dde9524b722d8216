"""Errors of opposite signs cancel in the loss before they are counted.

## What it checks
Each term of the loss that compares predictions with targets is computed by its own formula. Reported is one
that stays the same when every sample gets the prediction of another, one that costs nothing for errors which
are zero on average in each sample, and one that falls by as much for an error as it rises for the opposite.

## Why it matters
An average over errors that still have their signs is near zero for predictions that are wrong everywhere. The
loss falls, and what is learned is right on average and in no single place.

## When it is harmless
Terms that compare sets or totals on purpose: statistics of features, histograms, moments, counts, brightness.
Names that say so are believed. An average over samples or over places is reported only where no other term
compares them one by one, or where the function is named after an error of single places. What holds for
amounts but not where targets are one of two classes is not reported.

## References
- torch.nn.functional.l1_loss, whose mean is taken of absolute values
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.cancelling_errors import Cancels
from stethoscope.signals.cancelling_errors import CancellingErrors

RULE = Rule(code="OBJ175", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

BESIDE_OTHERS = 0.9  # another term compares pair by pair, so this one may be meant to look at averages
SAYS = {
    Cancels.SAMPLES: "is the same if every sample gets another's prediction: it averages before it compares",
    Cancels.PLACES: "costs nothing for errors that are zero on average in each sample",
    Cancels.SIGNS: "rewards an error by as much as it costs the opposite one: nothing takes its size",
}


def examine(errors: CancellingErrors) -> Iterator[Finding]:
    """Report each term in which errors cancel."""
    for term in errors.found:
        yield Finding(
            where=(term.site.where, term.sink.where),
            message=f"this term of the loss {SAYS[term.over]}",
            evidence={"term": " ".join(term.site.text.split())[:120], "over": term.over.value},
            strength=1.0 if term.is_alone else BESIDE_OTHERS,
        )
