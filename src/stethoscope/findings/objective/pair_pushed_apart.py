"""A loss that holds a pair against others pushes the pair apart.

## What it checks
Hinges, logistic losses and plain differences that hold a likeness or distance of a matching pair against
that of others: `relu(margin + negative - positive)` of similarities, the other way round of distances. The
pair is known by its name (positive, chosen) or as the diagonal of a table of all pairs; whether the sides are
likenesses is read from the formulas that compute them. Losses that take the pair and the others as arguments
are checked for their order. Losses that are handed vectors and labels, and ask which labels agree, are
computed on vectors that lie together by their labels, and on the same vectors under mixed labels.

## Why it matters
With the two sides changed over, training moves what belongs together apart and draws strangers near. The loss
falls as it should, and retrieval ends below chance.

## When it is harmless
On purpose, in an attack or when something is to be unlearned. Names that say the opposite of what they hold
mislead the rule.

## References
- Schroff et al., FaceNet: A Unified Embedding for Face Recognition and Clustering, 2015
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.tried_losses import TriedLosses
from stethoscope.signals.turned_contrasts import TurnedContrasts

RULE = Rule(code="OBJ109", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(contrasts: TurnedContrasts, losses: TriedLosses | None) -> Iterator[Finding]:
    """Report each contrast that is the wrong way round."""
    for tried in losses.found if losses is not None else ():
        if tried.kind == "strangers":
            text = " ".join(tried.site.text.split())[:120]
            yield Finding(
                (tried.site.where, tried.sink.where),
                f"`{text}` costs more where vectors of one label lie together than where labels are mixed",
                evidence={"loss": text, "pair": "vectors of one label", "others": "vectors of other labels"},
                proof="the loss was computed on one set of vectors under two arrangements of labels",
            )
    for one in contrasts.found:
        what = "likeness" if one.is_likeness else "distance"
        does = "lowers" if one.is_likeness else "raises"
        yield Finding(
            where=(one.site.where,),
            message=f"this loss {does} the {what} of the pair, {one.pair}, against {one.others}",
            evidence={"loss": " ".join(one.site.text.split())[:120], "pair": one.pair, "others": one.others},
        )
