"""The target holds numbers that the network cannot give.

## What it checks
Losses that compare numbers (mean squared, absolute, Huber, binary cross entropy): whether the network ends in
something that bounds its answers, such as a sigmoid or a tanh, and the target is in a wider range by the
transforms of its data set or by arithmetic.

## Why it matters
Half of the target is out of reach. The loss falls to what is left over and stays there, pictures lose their
dark half, and no rate or size of the network helps.

## When it is harmless
A range that the answers cover, also one that is wider. Where either range is not known nothing is said.

## References
- torchvision.transforms.Normalize: a mean and deviation of 0.5 take [0, 1] to [-1, 1]
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.unreachable_targets import unreachable_targets
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ230", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each loss whose target lies beyond its answers."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in unreachable_targets(index(sources.program), tree):
        (low, high), (least, most) = one.answers, one.targets
        yield Finding(
            one.loss.where,
            f"the network gives numbers in [{low:.3g}, {high:.3g}], and its target is in"
            f" [{least:.3g}, {most:.3g}]",
            evidence={"answers": f"{low:g} to {high:g}", "target": f"{least:g} to {most:g}"},
        )
