"""Two lists of files that are read side by side, one of them sorted and the other as the disk gives it.

self.images = sorted(glob(f"{root}/images/*.png"))
self.masks = glob(f"{root}/masks/*.png")            self.images[i], self.masks[i]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.parted_pairs import PartedPair
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

LISTING = frozenset({"glob", "rglob", "iglob", "listdir", "scandir", "iterdir"})
SORTING = frozenset({"sorted", "natsorted", "sort"})


@remembered
def listings_apart(index: Index) -> tuple[PartedPair, ...]:
    """Every pair of listings of a class or function that one place looks up, of which one alone is sorted."""
    found: list[PartedPair] = []
    for cls in index.classes:
        if not is_test(cls.source):
            found.extend(_in_methods(cls))
    for function in index.functions:
        if function.owner is None and not is_test(function.source):
            found.extend(_zipped(function))
    return tuple(found)


def _in_methods(cls: Class) -> Iterator[PartedPair]:
    init, item = cls.methods.get("__init__"), cls.methods.get("__getitem__")
    if init is None or item is None:
        return
    places: dict[str, set[str]] = {}
    for node in own_nodes(item.node, ast.Subscript):
        name = dotted(node.value)
        if name and name.startswith("self."):
            places.setdefault(ast.unparse(node.slice), set()).add(name)
    listed = _listed(init)
    for names in places.values():
        yield from _parted(init, {name: listed[name] for name in sorted(names) if name in listed})
    yield from _zipped(init)


def _zipped(function: Function) -> Iterator[PartedPair]:
    """`list(zip(images, masks))`."""
    listed = _listed(function)
    if len(listed) < 2:
        return
    for call in own_nodes(function.node, ast.Call):
        if bare_name(call) == "zip":
            names = [name for one in call.args if (name := dotted(one)) in listed]
            yield from _parted(function, {name: listed[name] for name in names if name})


def _parted(function: Function, listed: dict[str, tuple[ast.AST, bool]]) -> Iterator[PartedPair]:
    ordered = next((name for name, (_, is_sorted) in listed.items() if is_sorted), None)
    lying = next((name for name, (_, is_sorted) in listed.items() if not is_sorted), None)
    if ordered is not None and lying is not None:
        source = function.source
        yield PartedPair(Site(source, listed[ordered][0]), Site(source, listed[lying][0]), (ordered, lying))


def _listed(function: Function) -> dict[str, tuple[ast.AST, bool]]:
    """What is filled from a listing alone, by name, and whether it is sorted then or later."""
    found: dict[str, tuple[ast.AST, bool]] = {}
    given: dict[str, int] = {}
    for node in own_nodes(function.node, ast.Assign):
        name = dotted(node.targets[0]) or ""
        given[name] = given.get(name, 0) + 1
        calls = {bare_name(call) for call in all_nodes(node.value, ast.Call)}
        if calls & LISTING:
            found[name] = (node, bool(calls & SORTING))
    sorted_later = {
        dotted(call.func.value)
        for call in own_nodes(function.node, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "sort"
    }
    return {
        name: (node, is_sorted or name in sorted_later)
        for name, (node, is_sorted) in found.items()
        if given[name] == 1
    }
