"""Functions of a program that nothing calls, hands on or looks up: what they would do never happens."""

from __future__ import annotations

import ast
import re

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot
from stethoscope.program.syntax import FunctionNode

_PLAIN_BASES = re.compile(r"(?:^|\.)(?:object|ABC|Protocol|Generic|Module)$")


def is_uncalled(function: Function, index: Index) -> bool:
    """Whether a function is named nowhere but where it is written, and nobody outside knows its name.

    What a framework calls by itself, what a decorator keeps and what a module offers to others is called.
    """
    if function.name.startswith("__") or function.node.decorator_list:
        return False
    if isinstance(function.owner, Class) and not all(
        _PLAIN_BASES.search(base) for base in index.outside_bases(function.owner)
    ):
        return False
    written = sum(one.name == function.name for one in index.functions)
    return _times_spoken(index, function.name) <= written


def is_out_of_reach(spot: Spot, code: Mentions) -> bool:
    """Whether an expression stands in a function that nothing calls."""
    by_node = _functions(code.index)
    scope: ast.AST = spot.node
    while not isinstance(scope, ast.Module):
        scope = code.scope_of(scope)
        function = by_node.get(id(scope)) if isinstance(scope, FunctionNode) else None
        if function is not None and is_uncalled(function, code.index):
            return True
    return False


@remembered
def _functions(index: Index) -> dict[int, Function]:
    return {id(function.node): function for function in index.functions}


def _times_spoken(index: Index, name: str) -> int:
    """How often a word stands in the sources, whatever it means there."""
    known = _spoken(index)
    if name not in known:
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        known[name] = sum(len(word.findall(source.text)) for source in index.program if name in source.text)
    return known[name]


@remembered
def _spoken(index: Index) -> dict[str, int]:
    """The words that were counted so far."""
    return {}
