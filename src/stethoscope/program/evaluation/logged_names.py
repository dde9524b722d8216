"""Under which names a Lightning program logs its numbers, and what the numbers are.

`self.log("val/acc", value)`, `self.log_dict({f"{stage}/loss": value})`: a part of a name that only the run
knows may be anything. Where a name or a table cannot be read at all, the names are not all known.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.score_directions import Known, direction
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes

MODULES = frozenset({"LightningModule", "LightningDataModule", "Callback"})
# Bases that log nothing by themselves.
SILENT = MODULES | {"Module", "ABC", "object", "Generic", "Protocol", "HyperparametersMixin", "Metric"}
# What Lightning adds: a number that is logged of steps and of epochs, and of several loaders.
ADDED = r"(_step|_epoch)?(/dataloader_idx_\d+)?"
ANYTHING = ".*"
RISING = re.compile(r"(Accuracy|F1Score|Precision|Recall|AUROC|AveragePrecision|JaccardIndex|Dice|R2Score)$")
FALLING = re.compile(r"(Error|ErrorRate|Perplexity|KLDivergence|FrechetInceptionDistance|HammingDistance)$")

# What these hold is whatever they are given.
AVERAGING = frozenset({"MeanMetric", "SumMetric", "MinMetric", "MaxMetric", "RunningMean", "AverageMeter"})


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """One number that is logged: a pattern of its name, what it is, and where."""

    pattern: str
    value: ast.expr | None
    function: Function

    def may_be(self, name: str) -> bool:
        """Whether the number can have this name, as Lightning knows it."""
        return re.fullmatch(self.pattern + ADDED, name) is not None


@dataclass(frozen=True, slots=True, eq=False)
class LoggedNames:
    """Everything that is logged; `complete` where no other name is possible."""

    logged: tuple[Logged, ...] = ()
    complete: bool = False

    def may_be(self, name: str) -> bool:
        """Whether something may be logged under a name."""
        return not self.complete or any(one.may_be(name) for one in self.logged)


@remembered
def logged_names(index: Index) -> LoggedNames:
    """The names that the modules and callbacks of a Lightning program log under."""
    owners = [cls for cls in index.classes if _bases(index, cls) & MODULES]
    if not owners:
        return LoggedNames()
    found = [one for function in index.functions for one in _logged_in(index, function)]
    known = tuple(one for one in found if one is not None)
    is_closed = all(_bases(index, cls) <= SILENT for cls in owners) and not _is_written_otherwise(index)
    return LoggedNames(known, bool(known) and is_closed and None not in found)


def logged_direction(index: Index, name: str) -> str | None:
    """Whether more of a logged number is better, by what is logged under its name."""
    said = {
        _direction(one)
        for one in logged_names(index).logged
        if one.value is not None and ANYTHING not in one.pattern and one.may_be(name)
    }
    return said.pop() if len(said) == 1 else None


def _bases(index: Index, cls: Class) -> set[str]:
    return {base.rpartition(".")[2] for base in index.outside_bases(cls)}


def _is_written_otherwise(index: Index) -> bool:
    """Whether something is put among the numbers past `log`: `trainer.callback_metrics["x"] = ...`."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"callback_metrics", "logged_metrics"}
        for module in index.modules.values()
        if "callback_metrics" in module.source.text or "logged_metrics" in module.source.text
        for node in _written(module.source.tree)
    )


def _written(tree: ast.AST) -> Iterator[ast.AST]:
    for node in all_nodes(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node.value
        match node:
            case ast.Call(func=ast.Attribute(value=held, attr="update" | "setdefault")):
                yield held


def _logged_in(index: Index, function: Function) -> Iterator[Logged | None]:
    """What a function logs; None for what cannot be read."""
    for call in own_nodes(function.node, ast.Call):
        if not isinstance(call.func, ast.Attribute):
            continue
        given = {word.arg: word.value for word in call.keywords}
        if call.func.attr == "log" and _is_of_module(call, given):
            name = call.args[0] if call.args else given.get("name")
            value = call.args[1] if len(call.args) > 1 else given.get("value")
            pattern = _pattern(index, function, name)
            yield Logged(pattern, value, function) if pattern is not None else None
        elif call.func.attr == "log_dict":
            table = call.args[0] if call.args else given.get("dictionary")
            yield from _of_table(index, function, table)


def _is_of_module(call: ast.Call, given: dict[str | None, ast.expr]) -> bool:
    """Whether a call hands a name and a number to a module: no `wandb.log({...})`, no `math.log(x)`."""
    owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    places = len(call.args) + len({"name", "value"} & given.keys())
    first = (owner or "").rpartition(".")[2]
    return places >= 2 and first not in {"wandb", "math", "np", "torch", "logger", "accelerator", "run"}


def _of_table(index: Index, function: Function, table: ast.expr | None) -> Iterator[Logged | None]:
    match table:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                pattern = _pattern(index, function, key)
                yield Logged(pattern, value, function) if pattern is not None else None
        case ast.DictComp(key=key):
            pattern = _pattern(index, function, key)
            yield Logged(pattern, None, function) if pattern not in (None, ANYTHING) and pattern else None
        case ast.Name(id=name):
            yield from _of_variable(index, function, name)
        case _:
            yield None


def _of_variable(index: Index, function: Function, name: str) -> Iterator[Logged | None]:
    """A table with a name: made of what is written out, and filled by its keys."""
    made = [
        node.value
        for node in own_nodes(function.node, ast.Assign)
        if any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
    ]
    is_written = made and all(isinstance(one, ast.Dict | ast.DictComp) for one in made)
    changed = any(
        isinstance(node.func, ast.Attribute) and dotted(node.func.value) == name
        for node in own_nodes(function.node, ast.Call)
    )
    if not is_written or changed:
        yield None
        return
    for one in made:
        yield from _of_table(index, function, one)
    for node in own_nodes(function.node, ast.Assign):
        match node.targets[0]:
            case ast.Subscript(value=ast.Name(id=held), slice=key) if held == name:
                pattern = _pattern(index, function, key)
                yield Logged(pattern, node.value, function) if pattern is not None else None


def _pattern(index: Index, function: Function, name: ast.expr | None) -> str | None:
    """A pattern of a name: its written parts, and anything where only the run knows."""
    match name:
        case ast.Constant(value=str() as text):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            said = [_pattern(index, function, one) or ANYTHING for one in parts]
            return "".join(said) if any(one != ANYTHING for one in said) else None
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            first, second = (_pattern(index, function, one) for one in (left, right))
            return f"{first or ANYTHING}{second or ANYTHING}" if first or second else None
        case ast.Name(id=held):
            target = index.resolve(index.module_of(function.source), held)
            match getattr(target, "value", None):
                case ast.Constant(value=str() as text):
                    return re.escape(text)
    return None


def _direction(one: Logged) -> str | None:
    """What a logged expression says of itself, or of what it is computed by."""
    names: dict[str, list[ast.expr]] = {}
    for node in own_nodes(one.function.node, ast.Assign):
        if isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    spoken = _Spoken(one.function.owner)
    known = Known({name: spoken.told(given[0]) for name, given in names.items() if len(given) == 1})
    return direction(spoken.told(one.value), known) if one.value is not None else None


class _Spoken(ast.NodeTransformer):
    """Puts a name that says which end is better for each metric of torchmetrics that an object keeps."""

    def __init__(self, owner: Class | None) -> None:
        self.owner = owner

    def told(self, value: ast.expr) -> ast.expr:
        changed = self.visit(copy.deepcopy(value))
        assert isinstance(changed, ast.expr)
        return changed

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        made = _made(self.owner, dotted(node))
        name = (dotted(made.func) or "").rpartition(".")[2] if made is not None else ""
        if RISING.search(name):
            return ast.Name(id="accuracy", ctx=ast.Load())
        if name in AVERAGING:
            return _averaged(self.owner, dotted(node)) or ast.Name(id="value", ctx=ast.Load())
        return ast.Name(id="error", ctx=ast.Load()) if FALLING.search(name) else self.generic_visit(node)


def _averaged(owner: Class | None, attribute: str | None) -> ast.expr | None:
    """The one thing that an average is given."""
    given = {
        ast.unparse(call.args[0]): call.args[0]
        for method in (owner.methods.values() if owner is not None else ())
        for call in own_nodes(method.node, ast.Call)
        if call.args and dotted(call.func) in {attribute, f"{attribute}.update"}
    }
    return next(iter(given.values())) if len(given) == 1 else None


def _made(owner: Class | None, attribute: str | None) -> ast.Call | None:
    """The one call that an attribute of an object is made by."""
    if owner is None or attribute is None or not attribute.startswith("self."):
        return None
    found = [
        node.value
        for method in owner.methods.values()
        for node in own_nodes(method.node, ast.Assign)
        if any(dotted(one) == attribute for one in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Call) else None
