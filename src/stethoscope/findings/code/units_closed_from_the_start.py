"""An activation is flat for all that comes into it: its units are closed before training begins.

## What it checks
The networks of the training are made and filled as the program does it, and asked for random inputs of the
usual size. Counted is the share of the units of each activation whose gradient is zero, or next to it, for
all samples and places: below zero for a ReLU, far out for a sigmoid or tanh.

## Why it matters
No gradient passes a closed unit, so the weights that would have to open it do not change. A threshold that is
subtracted, a bias that starts far below zero, or inputs that are hundreds of times too large close a whole
layer. The rest of the network learns what can be learned without it.

## When it is harmless
In a wide network some units are always closed, up to half of them in unlucky places: nine in ten is what
counts. Gates that are meant to open late have a bias near -2, where a sigmoid is not flat. Where the data are
of another size than is usual, the layer may be open for them.

## References
- Lu et al., "Dying ReLU and initialization: theory and numerical examples", 2019
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.beginnings import beginnings
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD892", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

NEARLY_ALL = 0.9  # of the units


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each activation that is flat for nearly all of its units."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for beginning in beginnings(index(sources.program), tree):
        for flat in beginning.flats:
            if flat.share >= NEARLY_ALL:
                yield Finding(
                    flat.spot.source.where(flat.spot.node),
                    f"{beginning.trial.cls.name}: {flat.share:.0%} of the units of this {flat.name} are flat "
                    "for all inputs before anything is learned",
                    evidence={"share": flat.share, "activation": flat.name},
                )
