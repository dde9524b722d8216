"""Functions that copy the channels of what they get, to give it more: `stereo(mono)`, `as_rgb(grey)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from stethoscope.program.data.unfilled_channels import asks_for_channels
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.array_statements import words_of
from stethoscope.program.objective.filled_channels import CHANNEL_WORDS, FEWER_WORDS
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test

COPYING = (".repeat(", ".expand(", ".tile(", "repeat(", "tile(", "stack(", "cat(", "concatenate(")


def widening_functions(index: Index, axis_of_copies: Callable[[ast.Call], str | None]) -> frozenset[str]:
    """The names of functions that, on some way, answer with copies of a parameter along its channels."""
    named: dict[str, list[Function]] = {}
    copying = {
        source.file
        for source in index.program
        if not is_test(source) and any(word in source.text for word in COPYING)
    }
    for function in index.functions:
        if function.source.file in copying:
            named.setdefault(function.name, []).append(function)
    return frozenset(
        name for name, known in named.items() if len(known) == 1 and _widens(known[0], axis_of_copies)
    )


def is_about_channels(function: Function) -> bool:
    """Whether a function's names speak of channels, or it looks at how many its input has."""
    spoken = {word for name in (function.name, *function.parameters) for word in words(name)}
    return bool(spoken & (CHANNEL_WORDS | FEWER_WORDS)) or asks_for_channels(function)


def _widens(function: Function, axis_of_copies: Callable[[ast.Call], str | None]) -> bool:
    parameters = set(function.parameters)
    for node in own_nodes(function.node, ast.Return):
        for answer in _answers(node.value):
            place = axis_of_copies(answer)
            mentioned = {one.id for one in all_nodes(answer, ast.Name)}
            if place is None or not mentioned & parameters or "noise" in words_of(answer):
                continue
            if place == "channels" or is_about_channels(function):
                return True
    return False


def _answers(node: ast.expr | None) -> Iterator[ast.Call]:
    match node:
        case ast.IfExp(body=one, orelse=other):
            yield from _answers(one)
            yield from _answers(other)
        case ast.Call():
            yield node
