"""A layer of a normalizing flow says another change of volume than it makes.

## What it checks
Networks of the training that give back what they made of their input and the logarithm of the determinant of
that. They are made with the program's own sizes, their derivatives are taken for inputs drawn at random, and
the determinant is computed and held against what is said; then each kind of layer inside, to say which it is.

## Why it matters
The likelihood is that of the code plus the change of volume. With a wrong sign, a mean in the place of a sum
or a layer left out, the loss rewards what makes it small without making the data likely: it may fall far
below any true likelihood, the samples get worse, and bits per dimension mean nothing.

## When it is harmless
A flow may say the mean over all numbers, channels or places, or count in bits, and it may be written from
the code to the data: a fixed part of the change, the whole flow's or its negative, is as good. A layer alone
is judged only beside others of the same flow that are right. What cannot be computed is not judged.

## References
- Dinh et al., Density Estimation using Real NVP, 2017, section 3
- Kingma and Dhariwal, Glow, 2018, table 1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.volume_changes import volumes
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ530", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each layer whose change of volume is another than it says."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in volumes(index(sources.program), tree).mistold:
        first, *_ = one.volumes
        yield Finding(
            (one.forward.where(),),
            f"{one.name} changes log-volumes by {first.computed:.3g} where it says {first.said:.3g}",
            evidence={"layer": one.name, "computed": first.computed, "said": first.said},
            proof="the determinant of its derivatives, computed for inputs drawn at random",
        )
