"""The loss of a normalizing flow does not count code and change of volume as one likelihood.

## What it checks
Flows that give back a code and the logarithm of the determinant, which was tried and is right, or right with
a minus. The loss is computed for a code of ones against zeros, and for a change of volume of one against
none: the change has to lower the loss where volumes grow, and a normal prior has to count each number of the
code where the change counts all of them.

## Why it matters
Both parts make one likelihood. With the wrong sign the flow learns to blow volumes up or to let them
shrink to nothing, whichever lowers the loss without end. With a mean beside a sum the volume outweighs the
code, and what is sampled is spread far too wide.

## When it is harmless
A flow that is written from the code to the data says the negative, and its loss adds what others take away.
Means of both, or bits, keep the two together. A loss that cannot be computed from the two is not judged.

## References
- Papamakarios et al., Normalizing Flows for Probabilistic Modeling and Inference, 2021, section 2
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.flow_likelihoods import misfit_likelihoods
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ533", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each loss whose two parts do not fit."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in misfit_likelihoods(index(sources.program), tree):
        yield Finding(
            (one.passed.where, one.site.where),
            f"the loss of this flow is no likelihood: {one.misfit}",
            evidence={"kind": one.misfit.name.lower()},
            proof="the loss, computed for other codes and other changes of volume",
        )
