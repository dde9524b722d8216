"""The networks that a Hugging Face trainer trains by the loss that they compute themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Class, Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.trainers_made import TrainerMade, trainers_made


@remembered
def trainer_networks(index: Index) -> tuple[Class, ...]:
    """The classes that trainers are given as networks, where the trainers have no loss of their own."""
    found = (cls for made in trainers_made(index) if asks_network(index, made) for cls in _given(index, made))
    return tuple(dict.fromkeys(cls for cls in found if "forward" in cls.methods))


def asks_network(index: Index, made: TrainerMade) -> bool:
    """Whether a trainer takes the loss from what the network gives."""
    has_own = made.cls is not None and index.method(made.cls, "compute_loss") is not None
    return not has_own and made.given("compute_loss_func") is None


def _given(index: Index, made: TrainerMade) -> Iterator[Class]:
    network = made.given("model")
    for module in index.modules.values():
        if module.source is made.source and network is not None:
            yield from _made_as(index, module, made, network)


def _made_as(index: Index, module: Module, made: TrainerMade, node: ast.expr) -> Iterator[Class]:
    if isinstance(node, ast.Name):
        values = [
            one.value
            for one in made.around
            if isinstance(one, ast.Assign) and node.id in map(dotted, one.targets)
        ]
        for value in values if len(values) == 1 and isinstance(values[0], ast.Call) else ():
            yield from _made_as(index, module, made, value)
    elif isinstance(node, ast.Call):
        target = index.resolve(module, dotted(node.func) or "")
        if isinstance(target, Class):
            yield target
