"""An option that asks for gradient accumulation and is used for arithmetic only.

`total = epochs * len(loader) // args.accum` lays out the schedule for a loop that accumulates. Where nothing
else reads the option, there is no such loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.accumulation import SPOKEN
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.settings.mentions import Mentions, Spot, mentions, spoken_of, taken_by_name
from stethoscope.run import Where

ARITHMETIC = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
TELLING = frozenset({"print", "info", "log", "debug", "warning", "write", "format", "log_params", "rprint"})


@dataclass(frozen=True, slots=True)
class Announced:
    """An option for accumulation: its name, where it is declared if it is, and where it is computed with."""

    name: str
    declared: Where | None
    used: Where


def stepped_with_every_batch(loop: TrainingLoop) -> Move | None:
    """The update of a loop that makes one for each of its batches, by hand and for all that is seen."""
    updates = [move for move in loop.moves if move.updates]
    backwards = loop.of(Kind.BACKWARD)
    if not loop.is_whole or loop.micro is not None or not updates or not backwards:
        return None
    if any(move.by_engine for move in (*updates, *backwards)):
        return None
    asked = questions(loop, backwards[0].event)
    return next((move for move in updates if questions(loop, move.event) <= asked), None)


@remembered
def announced_only(index: Index) -> Announced | None:
    """The option for accumulation that the program computes with, where it does nothing else with it."""
    if not any("accum" in source.text for source in index.program):
        return None
    found = mentions(index)
    names = {name for name in _all_names(found) if SPOKEN.intersection(words(name))}
    declared = {o.name: o for o in declared_options(index) if SPOKEN.intersection(words(o.name))}
    if any(option.default == 1 for option in declared.values()):
        return None
    used: tuple[str, Where] | None = None
    for name in sorted(names):
        for spot in _reads(name, found):
            use = _use(spot.node, name, found)
            if use == "another":
                return None
            if use == "arithmetic" and used is None:
                used = (name, spot.where)
        if any(_is_looked_up(spot, found) for spot in spoken_of(name, found)):
            return None
    if used is None:
        return None
    option = next(iter(declared.values()), None)
    return Announced(option.name if option else used[0], option.where if option else None, used[1])


def _all_names(found: Mentions) -> Iterator[str]:
    yield from found.attributes
    yield from found.texts
    for name, _ in found.variables():
        yield name


def _reads(name: str, found: Mentions) -> Iterator[Spot]:
    yield from taken_by_name(name, found)
    yield from found.names(name)


def _is_looked_up(spot: Spot, found: Mentions) -> bool:
    """Whether something may take the option by its name; a flag's declaration and its help do not."""
    parent = found.parents.get(id(spot.node))
    while isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.keyword):
        parent = found.parents.get(id(parent))
    called = parent.func if isinstance(parent, ast.Call) else None
    name = getattr(called, "attr", None) or getattr(called, "id", "")
    return name not in TELLING | {"add_argument", "ArgumentParser", "Argument", "Option", "option", "Field"}


def _use(node: ast.AST, name: str, found: Mentions) -> str:
    """What a read of the option is for: "arithmetic", "telling", or "another" use."""
    parent = found.parents.get(id(node))
    while parent is not None:
        match parent:
            case ast.BinOp(op=op) if isinstance(op, ARITHMETIC):
                # What steps waits for is a remainder; all else gives the length of something.
                return "another" if isinstance(op, ast.Mod) and parent.right is node else "arithmetic"
            case ast.JoinedStr() | ast.Assert() | ast.Raise():
                return "telling"
            case ast.FormattedValue() | ast.Tuple():
                pass
            case ast.Call(func=func):
                called = getattr(func, "attr", None) or getattr(func, "id", "")
                if called not in {*TELLING, "int", "max", "min", "float"}:
                    return "another"
                if called in TELLING:
                    return "telling"
            case ast.Assign(targets=[target], value=value) if value is node:
                kept = getattr(target, "attr", None) or getattr(target, "id", "")
                return "telling" if kept == name else "another"
            case _:
                return "another"
        node, parent = parent, found.parents.get(id(parent))
    return "another"
