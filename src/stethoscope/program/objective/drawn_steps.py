"""Time steps that are drawn from another range than the schedule of the noise has.

The schedule's length is what its table is made with (`linspace(first, last, T)` beside a cumulative product)
or what a scheduler is told (`num_train_timesteps`); the range is the bound of `randint`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.told_levels import LEVELS
from stethoscope.program.settings.said_numbers import said
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

FEWEST_STEPS = 20  # a schedule of fewer is no table of time steps


@dataclass(frozen=True, slots=True, eq=False)
class ShortDraw:
    """A draw of time steps that leaves the end of the schedule out."""

    source: Source
    drawn: ast.Call
    bound: float
    made: tuple[Source, ast.AST]
    length: float


def short_draws(index: Index) -> Iterator[ShortDraw]:
    """Draws below the one length that the schedules of a program have."""
    functions = [one for one in index.functions if not is_test(one.source)]
    lengths: dict[float, tuple[Source, ast.AST]] = {}
    for function in functions:
        for length, node in _lengths(index, function):
            lengths.setdefault(length, (function.source, node))
    if len(lengths) != 1:
        return
    ((length, made),) = lengths.items()
    for function in functions:
        for call in own_nodes(function.node, ast.Call):
            bound = _bound(index, function, call)
            if bound is not None and bound < length - 1 and _draws_levels(function, call):
                yield ShortDraw(function.source, call, bound, made, length)


def _lengths(index: Index, function: Function) -> Iterator[tuple[float, ast.AST]]:
    for call in own_nodes(function.node, ast.Call):
        name = bare_name(call)
        if name == "linspace" and len(call.args) > 2 and "cumprod" in function.source.text:
            given: ast.expr | None = call.args[2]
        elif name.endswith("Scheduler"):
            given = next((word.value for word in call.keywords if word.arg == "num_train_timesteps"), None)
        else:
            continue
        number = said(index, function, given).number if given is not None else None
        if number is not None and number >= FEWEST_STEPS:
            yield number, call


def _bound(index: Index, function: Function, call: ast.Call) -> float | None:
    """The bound of `randint(bound, size)`, `randint(0, bound, size)`, where it is a number."""
    if bare_name(call) != "randint":
        return None
    given = {word.arg: word.value for word in call.keywords}
    places = [one for one in call.args if not isinstance(one, ast.Tuple | ast.List)]
    high = given.get("high") or (places[1] if len(places) > 1 else places[0] if places else None)
    low = given.get("low") or (places[0] if len(places) > 1 else None)
    if high is None or (low is not None and said(index, function, low).number not in {0.0, 1.0}):
        return None
    return said(index, function, high).number


def _draws_levels(function: Function, call: ast.Call) -> bool:
    """Whether what is drawn is called a time step, or the function is named for it."""
    if LEVELS.intersection(words(function.name)):
        return True
    for node in own_nodes(function.node, ast.Assign):
        if any(one is call for one in ast.walk(node.value)):
            names = {word for target in node.targets for word in words(ast.unparse(target))}
            return bool(LEVELS & names)
    return False
