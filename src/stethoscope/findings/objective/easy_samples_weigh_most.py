"""A focal loss weighs the samples most that are already right.

## What it checks
Losses that weigh a cross entropy with a power of the probability of the right answer: whether that is `p **
gamma`, where a focal loss has `(1 - p) ** gamma`. The probability is known by how it is made: `exp(-ce)`,
or `p` where the label is one and `1 - p` where it is not. However it is written, each term that
holds scores to labels is also computed for right, undecided and wrong scores: what is surely wrong may not be
cheap.

## Why it matters
The loss was made so that the many easy samples do not drown the few hard ones. Turned round, a sample that
the network gets wrong counts for nothing, the rare class is given up, and the loss falls all the same.

## When it is harmless
A weight on sure answers is meant in self-training and where labels are noisy; those weigh with other powers
than a focusing `gamma`.

## References
- Lin et al., Focal Loss for Dense Object Detection, 2017, equation 4
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.turned_focus import turned_focuses
from stethoscope.signals.cheap_errors import CheapErrors
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ723", since="0.5", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, tried: CheapErrors | None) -> Iterator[Finding]:
    """Report each focal weight that is turned round, as it is written or by what errors cost."""
    told: set[str] = set()
    for one in turned_focuses(index(sources.program)):
        text = ast.unparse(one.weight)
        told.add(one.source.file)
        yield Finding(
            one.source.where(one.weight),
            f"`{text}` is largest for what is already right, and nothing for what is wrong",
            evidence={"weight": text},
        )
    for cheap in tried.found if tried is not None and not told else ():
        yield Finding(
            cheap.site.where,
            f"an answer that is surely wrong costs {cheap.wrong:.2g}, an undecided one {cheap.undecided:.2g}",
            evidence={"wrong": cheap.wrong, "undecided": cheap.undecided},
        )
