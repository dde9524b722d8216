"""Weights that should have been copied are the live ones.

## What it checks
The state of a network that is kept during training without a copy and loaded behind it; lists that hold one
learning layer several times (`[layer] * n`); a target, teacher or average that is given the network itself
(`target = net`) and then loaded from it or mixed with it; averages that take the network's own tensors for
theirs and mix into them in place; buffers that a loop puts into a list and writes to again
(`states.append(s)` beside `s[i] = ...`), and lists of one object (`[[]] * n`, `dict.fromkeys(keys, [])`)
that are filled place by place.

## Why it matters
`state_dict()` hands out the live tensors: the best weights that are kept so are the last ones, and loading
them does nothing. A target network that is the network itself moves with every step, so that what is learned
chases itself. One layer in every place of a list learns one set of weights. An average over its own
source moves the weights that are trained. A list of one buffer holds the last batch as often as there were
batches, and what is learnt from it belongs to no other step.

## When it is harmless
Layers that are shared on purpose, and said to be. A state that is written to a file at once needs no copy,
and neither does a buffer that is made anew in every round.

## References
- torch.nn.Module.state_dict
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.aliases import (
    live_averages,
    networks_onto_themselves,
    repeated_layers,
    uncopied_networks,
    uncopied_weights,
)
from stethoscope.program.loop.shared_buffers import SharedBuffer, shared_buffers
from stethoscope.signals.evaluations import Evaluations

RULE = Rule(code="LOP140", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each tensor that goes under two names where two tensors were meant."""
    index = evaluations.index
    for one in uncopied_weights(index):
        yield Finding(
            (one.source.where(one.made), one.used_in.where(one.used)),
            f"`{one.name}` holds the live weights and no copy: what is loaded from it is the last state",
            evidence={"kind": "state", "name": one.name},
        )
    for one in uncopied_networks(index):
        yield Finding(
            (one.source.where(one.made), one.source.where(one.used)),
            f"`{ast.unparse(one.made)}` copies no weights: training goes on in the same network, and "
            f"`{one.name}` is its last state",
            evidence={"kind": "state", "name": one.name},
        )
    for one in networks_onto_themselves(index):
        yield Finding(
            (one.source.where(one.made), one.source.where(one.used)),
            f"`{ast.unparse(one.made)}` makes no second network: `{one.name}` changes with every step, and "
            "carrying weights into it does nothing",
            evidence={"kind": "network", "name": one.name},
            proof="both names are one object, and nothing gives either of them another",
        )
    for one in repeated_layers(index):
        yield Finding(
            one.source.where(one.made),
            f"every place of the list holds the one layer `{one.name}`: they all share its weights",
            evidence={"kind": "layer", "name": one.name},
        )
    for one in live_averages(index):
        yield Finding(
            (one.source.where(one.made), one.source.where(one.used)),
            f"`{one.name}` holds the network's own tensors, and the average mixes into them in place",
            evidence={"kind": "average", "name": one.name},
        )
    for buffer in shared_buffers(index):
        yield Finding(
            (buffer.source.where(buffer.kept), buffer.source.where(buffer.written)),
            _said_of(buffer),
            evidence={"kind": "list" if buffer.repeated else "buffer", "name": buffer.name},
        )


def _said_of(buffer: SharedBuffer) -> str:
    if buffer.repeated:
        return f"every place of `{buffer.name}` is one object: what is written to one is written to all"
    return (
        f"`{buffer.name}` is put into the list without a copy and written to again: every entry is the last"
    )
