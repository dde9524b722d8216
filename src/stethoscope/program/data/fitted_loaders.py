"""The loaders that a Lightning trainer is given: `trainer.fit(module, loader)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.training_data import POSITIONAL, TrainingLoader, sources
from stethoscope.program.index import Function, Index, Module
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test, walk
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.trace import TRACE_STEPS

LOADERS_PLACE = 1  # among the arguments of fit
MOST_STARTS = 6


@remembered
def fitted_loaders(index: Index, settings: SettingsTree) -> tuple[TrainingLoader, ...]:
    """Every loader that a `fit` of the program trains on."""
    found: dict[int, TrainingLoader] = {}
    for start in fit_starts(index):
        run = Execution(index, settings, TRACE_STEPS // 4, tracing=True)
        try:
            walk(run, start)
            for loader in _given_to_fit(run):
                found.setdefault(id(loader.site.node), loader)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def fit_starts(index: Index) -> tuple[Function | Module, ...]:
    """Where walks to a `fit` begin."""
    return tuple(_starts(index))[:MOST_STARTS]


def _starts(index: Index) -> Iterator[Function | Module]:
    """Scripts that come to a `fit`, and the functions around one."""
    for module in index.modules.values():
        if ".fit(" not in module.source.text or is_test(module.source):
            continue
        fits = [getattr(node, "lineno", 0) for node in all_nodes(module.source.tree) if _is_fit(node)]
        if fits:
            yield module
        for function in index.functions if fits else ():
            node = function.node
            is_near = function.source is module.source and function.owner is None
            if is_near and any(node.lineno < line <= (node.end_lineno or 0) for line in fits):
                yield function


def _is_fit(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="fit"), args=args, keywords=keywords):
            return len(args) + len(keywords) > 1
    return False


def _given_to_fit(run: Execution) -> Iterator[TrainingLoader]:
    for event in list(run.events):
        if not isinstance(event, Call) or event.name != "fit" or event.receiver is None:
            continue
        given = event.argument(LOADERS_PLACE, "train_dataloaders")
        for made in sources(run.force(given)) if given is not None else ():
            if made.callee.rpartition(".")[2] == "DataLoader":
                options = {**dict(zip(POSITIONAL, made.args, strict=False)), **made.keywords}
                yield TrainingLoader(made, options, event.arguments_known, run, None)
