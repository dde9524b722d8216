"""A part of a network never learns, and nothing gives it weights: it stays at its random start.

## What it checks
In every network of the program that a loss goes through: the parts that no optimizer has although one has
others (`Adam(model.head.parameters())`), and the parts whose gradients are switched off before the loop and
never on again (`model.blocks.requires_grad_(False)`, a loop over their parameters, or over all that asks for
names). Each is reported where nothing in the program could have given it weights that are worth keeping.

## Why it matters
The rest learns on top of random features. The loss falls, so nothing looks broken, and it stops far above
what the network could do.

## When it is harmless
Fine-tuning, probing, adapters and distillation leave a part as it is because it has learnt before. So nothing
is said where the program speaks of pretrained or frozen weights, brings in networks of a library, loads
weights without the state of an optimizer beside them, or writes into the part by hand. A class that freezes
parts of its own (fixed filters, encodings of positions, random features) knows what it does. What a condition
freezes, or something lets learn again, is left alone.

## References
- torch.nn.Module.requires_grad_
- torch.optim.Optimizer.add_param_group
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.untrained_parts import UntrainedPart, frozen_parts, left_out_parts
from stethoscope.program.walk.events import Call
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP170", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report what is random in a network and stays so, once for each place that keeps it from learning."""
    if not loops.loops:
        raise InsufficientData("no loop that trains was found")
    for parts in _by_place(part for loop in loops for part in left_out_parts(loop)):
        names, is_or_are = _listed(parts)
        yield _finding(
            parts,
            f"{_maker(parts[0])} has other parts of {parts[0].network.cls.name} than {names}, which "
            f"{is_or_are} trained by nothing and loaded from nowhere: random features for good",
        )
    for parts in _by_place(part for loop in loops for part in frozen_parts(loop)):
        names, is_or_are = _listed(parts)
        yield _finding(
            parts,
            f"{names} of {parts[0].network.cls.name} {is_or_are} frozen before anything taught it, and no "
            "weights are loaded: random features for good",
        )


def _by_place(found: Iterable[UntrainedPart]) -> list[list[UntrainedPart]]:
    """The parts of each network that one line keeps from learning, each part once."""
    groups: dict[tuple[Where, str], dict[str, UntrainedPart]] = {}
    for part in found:
        groups.setdefault((part.keeping.site.where, part.network.cls.name), {}).setdefault(part.name, part)
    return [list(parts.values()) for parts in groups.values()]


def _finding(parts: list[UntrainedPart], message: str) -> Finding:
    network = parts[0].network.cls.name
    names = ", ".join(part.name or part.condition for part in parts)
    return Finding(
        where=(parts[0].keeping.site.where, *(part.where for part in parts if part.name)),
        message=message,
        evidence={"network": network, "part": names},
        proof="nothing in the source trains this part, or loads weights into it but to resume",
    )


def _maker(part: UntrainedPart) -> str:
    return (part.keeping.name if isinstance(part.keeping, Call) else "") or "the optimizer"


def _listed(parts: list[UntrainedPart]) -> tuple[str, str]:
    names = [part.name or f"everything without ({part.condition})" for part in parts]
    if len(names) == 1:
        return names[0], "is"
    return f"{', '.join(names[:-1])} and {names[-1]}", "are"
