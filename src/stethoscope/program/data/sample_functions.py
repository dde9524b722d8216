"""The functions that make samples: of data sets, transforms and collate functions, and what they lead to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test

# Arguments under which a function is handed over that will make or change samples.
HANDED_AS = frozenset({
    "collate_fn", "transform", "transforms", "preprocess", "augment", "augmentation", "target_transform",
    "collate", "collator", "data_collator", "batch_transform", "item_transform", "reader", "loader_fn",
})  # fmt: skip
CHAINS = frozenset({"Compose", "Lambda", "partial", "map", "with_transform", "set_transform"})


@remembered
def sample_functions(index: Index) -> tuple[Function, ...]:
    """The functions that make samples, and those of the program that they call or hand on by name."""
    known = [function for function in index.functions if not is_test(function.source)]
    by_name: dict[str, list[Function]] = {}
    for function in known:
        by_name.setdefault(function.name, []).append(function)
    waiting = [function for function in known if _makes_samples(function, index)]
    for name in _handed_over(index):
        waiting += _only(by_name.get(name, []), index)
    found: dict[str, Function] = {}
    while waiting:
        function = waiting.pop()
        if function.qualified in found:
            continue
        found[function.qualified] = function
        for name in _mentioned(function):
            waiting += _only(by_name.get(name, []), index)
    return tuple(found.values())


def _only(named: list[Function], index: Index) -> list[Function]:
    return [one for one in named if len(named) == 1 and not is_of_network(one, index)]


def _mentioned(function: Function) -> Iterator[str]:
    for node in own_nodes(function.node):
        if isinstance(node, ast.Call):
            yield bare_name(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _makes_samples(function: Function, index: Index) -> bool:
    owner = function.owner
    if not isinstance(owner, Class):
        return bool({"collate", "preprocess"} & set(words(function.name)))
    if any(base.rpartition(".")[2].endswith("Dataset") for base in index.outside_bases(owner)):
        return True
    if function.name == "__getitem__" and "__len__" in owner.methods:
        return not is_of_network(function, index)
    return function.name == "__call__" and not is_of_network(function, index)


def _handed_over(index: Index) -> Iterator[str]:
    """The names of functions that are handed to loaders, data sets and chains of transforms."""
    chains = {
        cls.name
        for cls in index.classes
        if "__call__" in cls.methods and not is_of_network(cls.methods["__call__"], index)
    }
    chained = CHAINS | chains
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            handed = [keyword.value for keyword in call.keywords if keyword.arg in HANDED_AS]
            if bare_name(call) in chained:
                handed += [*call.args, *(keyword.value for keyword in call.keywords)]
            for one in handed:
                yield from _names(one)


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            for one in elts:
                yield from _names(one)
        case ast.Call(args=[first, *_]) if bare_name(node) == "partial":
            yield from _names(first)


def is_of_network(function: Function, index: Index) -> bool:
    """Whether a function is a method of a network."""
    owner = function.owner
    bases = index.outside_bases(owner) if isinstance(owner, Class) else ()
    return any(base.rpartition(".")[2].endswith("Module") for base in bases)
