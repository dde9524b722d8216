"""Arguments of a trainer that only a method reads which the program's own trainer replaces.

transformers.Trainer smooths labels in `compute_loss` and decays weights in `create_optimizer`. A class that
replaces such a method, neither calling the replaced one nor reading the argument, trains without it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.framework_bases import TRAINERS_BY_NAME
from stethoscope.program.walk.trainers_made import TrainerMade, trainers_made

# Each argument, the methods of the trainer that read it, and by what else they are known to be asked for.
READERS: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "label_smoothing_factor": (("compute_loss",), frozenset({"label_smoother"})),
    **{
        name: (
            ("create_optimizer", "create_optimizer_and_scheduler"),
            frozenset({"get_optimizer_cls_and_kwargs", "get_optimizer_kwargs"}),
        )
        for name in ("weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "optim")
    },
    **{
        name: (("create_scheduler", "create_optimizer_and_scheduler"), frozenset({"get_warmup_steps"}))
        for name in ("lr_scheduler_type", "warmup_steps", "warmup_ratio")
    },
}


@dataclass(frozen=True, slots=True, eq=False)
class VoidArgument:
    """An argument that nothing reads, and the method in the place of the one that would."""

    name: str
    method: Function


@remembered
def void_arguments(index: Index) -> tuple[VoidArgument, ...]:
    """The arguments that no trainer of the program reads, whatever they are set to."""
    return tuple(_void_arguments(index))


def _void_arguments(index: Index) -> Iterator[VoidArgument]:
    made = trainers_made(index)
    if not made or any(one.cls is None for one in made):
        return
    for name, (readers, others) in READERS.items():
        methods = [_replacing(index, one, readers) for one in made]
        known = [method for method in methods if method is not None]
        if len(known) == len(methods) and not _is_spoken_of(index, {name, *others}):
            yield VoidArgument(name, known[0])


def _replacing(index: Index, made: TrainerMade, readers: tuple[str, ...]) -> Function | None:
    """The method of a trainer that stands in for the reader, where it does not call it."""
    assert made.cls is not None
    bases = {base.rpartition(".")[2] for base in index.outside_bases(made.cls)}
    if bases & TRAINERS_BY_NAME or made.given("optimizers") is not None:
        return None
    for name in readers:
        method = index.method(made.cls, name)
        if method is not None:
            return None if _calls_replaced(index, made, name) else method
    return None


def _calls_replaced(index: Index, made: TrainerMade, name: str) -> bool:
    assert made.cls is not None
    for cls in index.lineage(made.cls):
        for method in cls.methods.values():
            for node in own_nodes(method.node):
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Call):
                    return True  # super().compute_loss
                if isinstance(node, ast.Attribute) and ast.unparse(node) == f"Trainer.{name}":
                    return True
    return False


def _is_spoken_of(index: Index, names: set[str]) -> bool:
    """Whether the source reads one of the names, or takes all arguments together."""
    for source in index.program:
        if not any(name in source.text for name in names):
            continue
        for node in all_nodes(source.tree):
            if isinstance(node, ast.Attribute) and node.attr in names and isinstance(node.ctx, ast.Load):
                return True
            if isinstance(node, ast.Constant) and node.value in names:
                return True
    return False
