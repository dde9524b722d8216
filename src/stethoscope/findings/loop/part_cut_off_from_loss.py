"""A part of a network is in the optimizer, and no gradient of any loss gets to it.

## What it checks
For every network that a training loop's losses go through and an optimizer has: whether some way leads from a
loss back to each part that runs for it. A part is reported where all of them end in a `.detach()` or in code
under `no_grad`, and nothing but gradients could have taught it.

## Why it matters
The part stays at its random start while the rest learns on top of it. The loss falls, so nothing looks
broken, and it stops far above what the network could do. torch does not complain: the optimizer skips
parameters without a gradient.

## When it is harmless
Networks that learnt before are cut off on purpose, and so are targets that follow another network by an
average. Nothing is said where the program speaks of pretrained or frozen weights, loads some, or moves those
of the part by hand; where another loss or another head reaches the part; and where what a loss is made of
could not be followed to its end.

## References
- torch.Tensor.detach
- torch.no_grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.objective.cut_off_parts import CutOffPart, cut_off_parts
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP340", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report the parts behind each cut, once for each place that cuts."""
    if not loops.loops:
        raise InsufficientData("no loop that trains was found")
    by_cut: dict[Where, dict[str, CutOffPart]] = {}
    for loop in loops:
        for part in cut_off_parts(loop):
            by_cut.setdefault(part.cut.where, {}).setdefault(part.name, part)
    for where, parts in by_cut.items():
        yield _finding(where, list(parts.values()))


def _finding(where: Where, parts: list[CutOffPart]) -> Finding:
    first = parts[0]
    names = ", ".join(part.name for part in parts)
    return Finding(
        where=(where, first.holder.call.site.where),
        message=f"no gradient gets behind {first.cut.text}: {names} of {first.network.cls.name} "
        f"{'is' if len(parts) == 1 else 'are'} in the optimizer, trained by nothing and loaded from nowhere",
        evidence={"network": first.network.cls.name, "part": names, "cut": first.cut.text},
        proof="every way from a loss to the part ends in a detached value or under no_grad",
    )
