"""Data sets that normalise by statistics they are told, where those for evaluation are told none.

`train = Mels(files, stats=stats)` beside `val = Mels(files)`, of a class that leaves its items as they are
where it has no statistics.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stethoscope.program.data.leaks import HELD_OUT, TRAINING
from stethoscope.program.data.told_statistics import ToldApart
from stethoscope.program.index import Class, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes, bodies
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

STATISTICS = frozenset(
    {
        "stats",
        "statistics",
        "scaler",
        "normalizer",
        "normaliser",
        "norm",
        "mean",
        "scaling",
        "normalize",
        "normalise",
        "normalization",
        "normalisation",
        "standardize",
        "standardise",
        "standardizer",
        "standardiser",
    }
)
# Who takes predictions back to the scale of raw data may measure on raw data.
_TAKEN_BACK = re.compile(
    r"(?i)denorm|unnorm|unscale|rescale|inverse|de_norm|destandard|\*\s*[\w.\[\]\"']*std"
)


def untold_apart(index: Index) -> Iterator[ToldApart]:
    """Every held-out data set that is told no statistics, beside one of training that is."""
    optional = {cls.name: found for cls in index.classes if (found := _optional_statistics(cls))}
    if not optional or any(_TAKEN_BACK.search(source.text) for source in index.program):
        return
    for module in index.modules.values():
        if is_test(module.source):
            continue
        apart = (
            one
            for body in bodies(module.source.tree)
            for one in _in_body(module, [node for part in body for node in all_nodes(part)], optional)
        )
        yield from {one.judged.node: one for one in apart}.values()


def _in_body(
    module: Module, nodes: Sequence[ast.AST], optional: dict[str, tuple[str, int]]
) -> Iterator[ToldApart]:
    made = [
        (ast.unparse(node.targets[0]), node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and dotted(node.targets[0])
    ]
    for held, judged in made:
        kind = (dotted(judged.func) or "").rpartition(".")[2]
        if kind not in optional or not _is(held, HELD_OUT) or _is_told(nodes, held, judged, *optional[kind]):
            continue
        for name, trained in made:
            is_twin = dotted(trained.func) == dotted(judged.func) and _is(name, TRAINING)
            if is_twin and _is_told(nodes, name, trained, *optional[kind]):
                yield ToldApart(
                    Site(module.source, trained), Site(module.source, judged), is_told_nothing=True
                )
                return


def _is(name: str, spoken: frozenset[str]) -> bool:
    return bool(spoken & set(words(name.rpartition(".")[2])))


def _is_told(nodes: Sequence[ast.AST], name: str, made: ast.Call, statistic: str, place: int) -> bool:
    """Whether a data set is told its statistics where it is made, or by an attribute later."""
    named = {one.arg for one in made.keywords}
    is_open = None in named or any(isinstance(one, ast.Starred) for one in made.args)
    if is_open or statistic in named or len(made.args) > place:
        return True
    set_later = (
        target
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )
    return any(ast.unparse(one.value) == name and _is(one.attr, STATISTICS) for one in set_later)


def _optional_statistics(cls: Class) -> tuple[str, int] | None:
    """The statistics that a data set may be made without, and their place among its arguments.

    Only of a class that asks whether it has them, and otherwise does nothing: one without may as well take
    those of its own data.
    """
    made, item = cls.methods.get("__init__"), cls.methods.get("__getitem__")
    if made is None or item is None:
        return None
    defaults = made.node.args.defaults
    optional = made.node.args.args[len(made.node.args.args) - len(defaults) :] if defaults else []
    for argument, default in zip(optional, defaults, strict=True):
        is_none = isinstance(default, ast.Constant) and default.value is None
        if is_none and _is(argument.arg, STATISTICS) and _is_only_kept(cls, argument.arg):
            return argument.arg, [one.arg for one in made.node.args.args].index(argument.arg) - 1
    return None


def _is_only_kept(cls: Class, name: str) -> bool:
    """`self.stats = stats`, and nothing else is made of it; an item asks whether there is one."""
    kept = f"self.{name}"
    assigned = [
        node.value
        for node in all_nodes(cls.node, ast.Assign)
        if any(ast.unparse(one) == kept for one in node.targets)
    ]
    asked = any(
        isinstance(node, ast.If | ast.IfExp) and kept in ast.unparse(node.test)
        for node in all_nodes(cls.methods["__getitem__"].node)
    )
    return asked and len(assigned) == 1 and ast.unparse(assigned[0]) == name
