"""Reads with a default out of settings as a whole: `cfg.get("clip", 1.0)`, `self.cfg.get("swa", {})`.

What is read so is asked of the top of the file, wherever the holder of the settings has been handed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from stethoscope.program.index import dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.defaulted_reads import LOADED, way_to
from stethoscope.program.settings.mentions import Mentions, Spot, text_of
from stethoscope.program.settings.settings_origins import origin_of, statement_of
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Where


@dataclass(frozen=True, slots=True)
class WholeRead:
    """The names from the top of the file, the default, and the place.

    `beside` is what else the same function or class takes out of the same holder: whether that is the whole
    file or a section of it shows there.
    """

    key: tuple[str, ...]
    default: object
    spot: Spot
    beside: frozenset[str]

    @property
    def where(self) -> Where:
        """The address of the read."""
        return self.spot.where


@remembered
def whole_reads(code: Mentions) -> tuple[WholeRead, ...]:
    """Every such read of settings that come from a file."""
    found = []
    for spot in (*code.calls.get("get", ()), *code.calls.get("getattr", ())):
        if is_test(spot.source):
            continue
        asked = _asked(spot.node)
        way = way_to(asked[0]) if asked is not None else None
        if asked is None or way is None:
            continue
        key = (*way[1], asked[1])
        holder = f"self.{key[0]}" if way[0] == "self" else way[0]
        if way[0] == "self" and len(key) > 1:
            key = key[1:] if _is_kept_from_file(spot, key, code) else ()
        elif not _is_of_file(way[0], key, spot, code):
            key = ()
        if key:
            found.append(WholeRead(key, asked[2], spot, _taken(holder, spot, code) - {key[0]}))
    return tuple(found)


def _taken(holder: str, spot: Spot, code: Mentions) -> frozenset[str]:
    """The names that are taken out of a holder in the function around, or in the class for `self.cfg`."""
    around: ast.AST = spot.node
    while id(around) in code.parents and not isinstance(around, FunctionNode | ast.ClassDef):
        around = code.parents[id(around)]
    while holder.startswith("self.") and id(around) in code.parents and not isinstance(around, ast.ClassDef):
        around = code.parents[id(around)]
    taken = (_part_of(node, holder) for node in all_nodes(around))
    return frozenset(name for name in taken if name is not None)


def _part_of(node: ast.AST, holder: str) -> str | None:
    match node:
        case ast.Subscript(value=of, slice=key) if dotted(of) == holder:
            return text_of(key)
        case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[key, *_]) if dotted(of) == holder:
            return text_of(key)
        case ast.Attribute(value=of, attr=name) if dotted(of) == holder and name != "get":
            return name
    return None


def _asked(node: ast.AST) -> tuple[ast.expr, str, object] | None:
    """What is asked, for which name, and the default; sections and None are no values."""
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[key, default], keywords=[]):
            pass
        case ast.Call(func=ast.Name(id="getattr"), args=[of, key, default]):
            pass
        case _:
            return None
    name = text_of(key)
    if name is None or not isinstance(default, ast.Constant) or default.value is None:
        return None
    return of, name, default.value


def _is_of_file(holder: str, key: tuple[str, ...], spot: Spot, code: Mentions) -> bool:
    """Whether a variable is what a file holds, from the beginning of the function or when it is read."""
    at = statement_of(spot.node, code)
    if origin_of(holder, key, at, spot.source, code) == LOADED:
        return True
    scope = code.scope_of(at)
    if not isinstance(scope, FunctionNode):
        return False
    if _is_stored(scope, holder):
        behind = _behind_its_one_store(scope, holder)
        return behind is not None and origin_of(holder, key, behind, spot.source, code) == LOADED
    return origin_of(holder, key, scope.body[0], spot.source, code) == LOADED


def _behind_its_one_store(scope: FunctionNode, holder: str) -> ast.stmt | None:
    """The statement behind the only one that gives a variable something, where that surely ran before."""
    stored = [
        one for one in all_nodes(scope, ast.Name) if one.id == holder and isinstance(one.ctx, ast.Store)
    ]
    for one, after in pairwise(scope.body):
        is_sure = isinstance(one, ast.Assign | ast.With | ast.AnnAssign)
        if is_sure and len(stored) == 1 and any(node is stored[0] for node in all_nodes(one)):
            return after
    return None


def _is_kept_from_file(spot: Spot, key: tuple[str, ...], code: Mentions) -> bool:
    """Whether an object keeps the settings of a file under the first of the names: `self.cfg = cfg`."""
    around: ast.AST | None = spot.node
    while around is not None and not isinstance(around, ast.ClassDef):
        around = code.parents.get(id(around))
    if around is None:
        return False
    given = list(_kept(around, key[0]))
    if len(given) != 1 or not isinstance(given[0].value, ast.Name):
        return False
    holder = given[0].value.id
    scope = code.scope_of(given[0])
    if not isinstance(scope, FunctionNode) or _is_stored(scope, holder):
        return False
    return origin_of(holder, key[1:], scope.body[0], spot.source, code) == LOADED


def _kept(cls: ast.ClassDef, name: str) -> Iterator[ast.Assign]:
    for node in all_nodes(cls, ast.Assign):
        for target in node.targets:
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr == name:
                    yield node


def _is_stored(scope: ast.AST, name: str) -> bool:
    return any(one.id == name and isinstance(one.ctx, ast.Store) for one in all_nodes(scope, ast.Name))
