"""Loaders that `itertools.cycle` goes round: it keeps the batches of its first round for all others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.leaks import HELD_OUT
from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import LOADER_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site


@remembered
def kept_cycles(index: Index) -> tuple[Site, ...]:
    """Where a loader of training is gone round by `itertools.cycle`, and batches are taken one by one."""
    return tuple(
        site
        for function in index.bodies
        if not is_test(function.source)
        for site in _in_function(index.module_of(function.source), function)
    )


def _in_function(module: Module, function: Function) -> Iterator[Site]:
    for node in own_nodes(function.node, ast.Assign):
        call = _cycle(module, node.value)
        if call is None or not call.args:
            continue
        kept = dotted(node.targets[0]) or ""
        if kept and _is_taken_from(module, kept) and _is_training_loader(module, call.args[0]):
            yield Site(function.source, call)


def _cycle(module: Module, value: ast.expr) -> ast.Call | None:
    """`itertools.cycle(loader)`, also inside `iter(...)`; a function of the program may draw anew."""
    if isinstance(value, ast.Call) and bare_name(value) == "iter" and value.args:
        return _cycle(module, value.args[0])
    if not isinstance(value, ast.Call) or bare_name(value) != "cycle":
        return None
    name = dotted(value.func) or ""
    head, _, rest = name.partition(".")
    full = ".".join(filter(None, (module.imports.get(head, head), rest)))
    return value if full == "itertools.cycle" else None


def _is_taken_from(module: Module, kept: str) -> bool:
    return any(
        bare_name(call) == "next" and call.args and dotted(call.args[0]) == kept
        for call in all_nodes(module.source.tree, ast.Call)
    )


def _is_training_loader(module: Module, node: ast.expr) -> bool:
    """Whether a loader shuffles where it is made, or is called one in code that trains."""
    made: list[ast.expr] = [node]
    name = dotted(node) or ""
    if name:
        if HELD_OUT.intersection(words(name)):
            return False
        assigned = (
            one for one in all_nodes(module.source.tree, ast.Assign) if dotted(one.targets[0]) == name
        )
        made = [one.value for one in assigned]
    loaders = [one for one in made if isinstance(one, ast.Call) and bare_name(one).endswith("DataLoader")]
    if loaders:
        return all(_shuffles(one) for one in loaders)
    trains = "backward(" in module.source.text
    return trains and bool(LOADER_WORDS.intersection(words(name.rpartition(".")[2])))


def _shuffles(loader: ast.Call) -> bool:
    for word in loader.keywords:
        is_off = isinstance(word.value, ast.Constant) and not word.value.value
        if word.arg in {"shuffle", "sampler", "batch_sampler"} and not is_off:
            return True
    return False
