"""A ranking loss puts last what should be first.

## What it checks
Loss functions that are handed two scores called positive and negative, good and bad, chosen and rejected; and
those of survival analysis, that are handed a risk, times and events. They are computed on numbers: whether
the loss rises with the score of what should be first, or with the risk of who fell ill first.

## Why it matters
Everything is learned the wrong way round. The loss falls as it should; the best recommendation is the
worst, a concordance comes out near zero instead of one, below what guessing reaches.

## When it is harmless
Distances, energies and costs are smaller for what belongs together: where the function speaks of them nothing
is reported. A risk set that runs from the end (`flip`) is the same as times sorted downwards.

## References
- Rendle et al., BPR: Bayesian Personalized Ranking from Implicit Feedback, 2009
- Katzman et al., DeepSurv, 2018
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.tried_losses import TriedLosses

RULE = Rule(code="OBJ540", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)

WHY = {
    "pair": "rises with the score of what should be first, and falls with that of what should be last",
    "hazard": "raises the risk of whoever lived longest and lowers that of the first to fall ill",
}


def examine(losses: TriedLosses) -> Iterator[Finding]:
    """Report each loss that ranks the wrong way."""
    for loss in losses.found:
        if loss.kind in WHY:
            text = " ".join(loss.site.text.split())[:80]
            yield Finding(
                (loss.site.where, loss.sink.where),
                f"`{text}` {WHY[loss.kind]}",
                evidence={"kind": loss.kind, "loss": text},
                proof="the loss was computed with one score or risk raised at a time",
            )
