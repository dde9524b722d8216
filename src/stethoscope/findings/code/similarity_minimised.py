"""A loss term is a similarity, so training lowers the quality it should raise.

## What it checks
Every value that reaches a backward pass is taken apart into its terms, through helper functions, loss
classes, dictionaries of losses and registries, with the sign and weight of each. A term is reported when it
is largest where prediction and target agree (SSIM, PSNR, Dice, IoU, cosine similarity, correlation) and is
minimised with a positive sign. Where the term's own algebra can be computed it is tried on equal and on
unrelated inputs, so its name does not matter.

## Why it matters
The optimiser does what it is told: it makes images less alike while the loss falls smoothly and every other
curve looks healthy. The metric of the same name peaks early and declines.

## When it is harmless
`1 - ssim`, `-ssim`, `-log(ssim)` or a negative weight anywhere on the way is the correct form and is not
reported. A likeness that is only logged is no loss. Terms that push things apart on purpose (diversity,
decorrelation, contrast with negatives, attacks) are left alone, as is a cosine between two network outputs
beside another term that says what to learn.
Where the settings that choose among losses were not found, the finding is only a warning.

## References
- Wang et al., Image Quality Assessment: From Error Visibility to Structural Similarity, 2004
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.loss_terms import LossTerm
from stethoscope.run import Fix, Level
from stethoscope.signals.loss_terms import ObjectiveTerms

RULE = Rule(code="COD101", since="0.1", severity=Severity.CRITICAL, subject=Subject.SOURCE)

SURE = 0.8  # below this the settings may choose another loss


def examine(objective: ObjectiveTerms) -> Iterator[Finding]:
    """Report each likeness that is minimised."""
    for term in objective.wrong:
        yield Finding(
            where=tuple(dict.fromkeys((term.where, *([term.computed] if term.computed else []), term.sink))),
            message=f"{term.name} {_says(term)}; it is minimised{_weighted(term)}",
            evidence=_evidence(term),
            strength=term.strength,
            proof=term.proof,
            severity=None if term.strength >= SURE else Severity.WARNING,
            fix=Fix("return the dissimilarity", Level.SAFE, (term.fix,)) if term.fix else None,
        )


def _says(term: LossTerm) -> str:
    what = (
        "the similarity"
        if term.kind in {"similarity", "similarity measure"}
        else f"the similarity ({term.kind})"
    )
    return f"returns {what}" if term.returned else f"is {what}"


def _weighted(term: LossTerm) -> str:
    return "" if term.weight is None or term.weight == 1 else f" with weight {term.weight:g}"


def _evidence(term: LossTerm) -> dict[str, object]:
    evidence: dict[str, object] = {"component": term.component, "measure": term.kind, "sign": term.sign}
    if term.weight is not None:
        evidence["weight"] = term.weight
    return evidence
