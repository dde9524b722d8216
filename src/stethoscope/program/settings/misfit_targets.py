"""Sections from which Hydra makes an object of the program, with keys that its class does not take.

model:
  _target_: src.nets.ConvNet
  drop_out: 0.1               class ConvNet: def __init__(self, dropout=0.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index
from stethoscope.run import Recipe, Setting

TARGET = "_target_"


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """A setting that what is made has no place for, and the name of that."""

    setting: Setting
    made: str


def misfit_targets(index: Index, recipe: Recipe | None) -> Iterator[Misfit]:
    """Every such key, in programs that make objects from settings."""
    if recipe is None or not any("instantiate(" in one.source.text for one in index.modules.values()):
        return
    for target in recipe:
        if target.leaf != TARGET or not isinstance(target.value, str) or not target.known:
            continue
        names = _taken(index, index.named(target.value))
        own = target.key[:-1]
        for setting in recipe if names is not None else ():
            if setting.where.file != target.where.file:
                continue  # files of other groups and experiments have other places in what is composed
            key = setting.key
            name = str(key[len(own)]) if len(key) > len(own) and key[: len(own)] == own else "_"
            if not name.startswith("_") and names is not None and name not in names:
                yield Misfit(setting, target.value.rpartition(".")[2])


def _taken(index: Index, made: object) -> frozenset[str] | None:
    """The arguments that a class or function takes; None where it may take any."""
    init = made
    if isinstance(made, Class):
        if index.outside_bases(made) and index.method(made, "__init__") is None:
            return None
        init = index.method(made, "__init__")
    if not isinstance(init, Function) or init.node.args.kwarg is not None or init.decorators:
        return None
    return frozenset(init.parameters)
