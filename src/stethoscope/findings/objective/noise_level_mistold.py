"""The network is told a noise level that says nothing, or the opposite.

## What it checks
Networks that get the level of the noise beside their input: whether they cast a level that is drawn between
zero and one to a whole number, whether training tells them one minus the level while an evaluation with
the same corruption tells them the level itself, and whether they are told zeros, or the level of the first
sample, where the corruption uses a level of each. Whether a network divides the step by the number of all
steps without a remainder, or after its caller has done so, or makes something of it that goes nowhere; and
whether training tells it one step lower than the input was made with, while sampling does not.

## Why it matters
Every level below one is zero as a whole number: the network cannot know how much noise to take out, and
settles for the average. A level that is turned round in training only is wrong wherever the network is
used.

## When it is harmless
Steps that are drawn as whole numbers, or levels that are multiplied with the number of steps first, may be
cast. A network that is told one minus the level everywhere has merely another name for it. A layer that takes
the step and never looks at it may do so for the sake of its neighbours.

## References
- Karras et al., Elucidating the Design Space of Diffusion-Based Generative Models, 2022
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.lost_levels import lost_levels
from stethoscope.program.objective.told_levels import blank_levels, cut_levels, turned_levels
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="OBJ140", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report levels that are cut to zero or turned round on their way into the network."""
    for cut in cut_levels(evaluations.index):
        source, node = cut.drawn
        yield Finding(
            (cut.source.where(cut.cast), source.where(node)),
            f"`{cut.name}` is drawn between zero and one, and as a whole number it is always zero",
            evidence={"level": cut.name, "kind": "cut"},
        )
    for turned in turned_levels(evaluations.index):
        source, node = turned.elsewhere
        yield Finding(
            (turned.source.where(turned.told), source.where(node)),
            f"the network is told 1 - {turned.level} here, and the level itself elsewhere",
            evidence={"level": turned.level, "kind": "turned"},
        )
    for blank in blank_levels(evaluations.index):
        yield Finding(
            (blank.source.where(blank.told), blank.source.where(blank.used)),
            f"the network is told the same for every sample, and the corruption uses `{blank.level}` of each",
            evidence={"level": blank.level, "kind": "blank"},
        )
    for lost in lost_levels(evaluations.index):
        yield Finding(
            lost.source.where(lost.node),
            lost.how,
            evidence={"level": lost.name, "kind": "lost"},
        )
