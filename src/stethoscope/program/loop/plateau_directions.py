"""What a schedule that waits for a plateau is given, and which end of it the schedule holds for better.

scheduler = ReduceLROnPlateau(optimizer, mode="max")
scheduler.step(val_loss)                                 a loss is better the lower it is
{"scheduler": scheduler, "monitor": "val_loss"}          the same, told to a framework
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.evaluation.logged_names import logged_direction
from stethoscope.program.evaluation.returned_scores import returned_scores
from stethoscope.program.evaluation.score_directions import Known, direction, named_direction
from stethoscope.program.index import Index, dotted
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Recipe, Source
from stethoscope.run.names import HIGHER, LOWER

PLATEAU = "ReduceLROnPlateau"
MODES = {"min": LOWER, "max": HIGHER}
ARGUMENTS = frozenset(
    {"mode", "factor", "patience", "threshold", "threshold_mode", "cooldown", "min_lr", "eps", "verbose"}
)


@dataclass(frozen=True, slots=True, eq=False)
class Plateau:
    """A schedule, what it is called, and the end that it holds for better."""

    source: Source
    made: ast.Call
    name: str
    kept: str


@dataclass(frozen=True, slots=True, eq=False)
class Misread:
    """A schedule that is given a number whose better end is the other one, or none at all."""

    plateau: Plateau
    source: Source
    given: ast.expr
    text: str
    counts: bool


def misread_plateaus(index: Index, recipe: Recipe) -> Iterator[Misread]:
    """Every such schedule of the program; what `**section` holds is looked up in the settings."""
    sources = [source for source in index.program if not is_test(source)]
    plateaus = [one for source in sources if PLATEAU in source.text for one in _plateaus(source, recipe)]
    named: dict[str, set[str]] = {}
    for one in plateaus:
        named.setdefault(one.name, set()).add(one.kept)
    for one in plateaus:
        yield from _told(index, one)
        # A name that two schedules have, of two minds, says nothing.
        if one.name and len(named[one.name]) == 1:
            yield from _stepped(one, _near(one, sources), returned_scores(index))


def _near(one: Plateau, sources: list[Source]) -> list[Source]:
    """The files that may mean this schedule: its own where that steps it, else all."""
    own = [one.source] if any(True for _ in _steps(one.source, one.name)) else []
    return own or sources


def _plateaus(source: Source, recipe: Recipe) -> Iterator[Plateau]:
    for call in all_nodes(source.tree, ast.Call):
        if (dotted(call.func) or "").rpartition(".")[2] != PLATEAU:
            continue
        kept = _kept(call, recipe)
        if kept:
            yield Plateau(source, call, _name_of(source, call), kept)


def _kept(call: ast.Call, recipe: Recipe) -> str:
    given = next((word.value for word in call.keywords if word.arg == "mode"), None)
    spread = [word.value for word in call.keywords if word.arg is None]
    if given is None and spread:
        return _kept_by_section(spread, recipe)
    if given is None and len(call.args) > 1:
        given = call.args[1]
    if given is None:
        return LOWER
    return MODES.get(str(given.value), "") if isinstance(given, ast.Constant) else ""


def _kept_by_section(spread: list[ast.expr], recipe: Recipe) -> str:
    """The end that a section of the settings says, or leaves unsaid, where it is the only one of its name."""
    match spread:
        case [ast.Subscript(slice=ast.Constant(value=str() as section)) | ast.Attribute(attr=section)]:
            inside = [one for one in recipe if section in one.key[:-1]]
        case _:
            return ""  # what `**options` hold may name it
    if len({one.key[:-1] for one in inside}) != 1 or not {one.leaf for one in inside} <= ARGUMENTS:
        return ""
    modes = [one.value for one in inside if one.leaf == "mode"]
    return MODES.get(str(modes[0]), "") if modes else LOWER


def _name_of(source: Source, call: ast.Call) -> str:
    for node in all_nodes(source.tree, ast.Assign):
        if node.value is call:
            return (dotted(node.targets[0]) or "").rpartition(".")[2]
    return ""


def _stepped(one: Plateau, sources: list[Source], results: Mapping[str, str]) -> Iterator[Misread]:
    for source in sources:
        for call in _steps(source, one.name):
            given = call.args[0] if call.args else next(iter(call.keywords)).value
            body = _body_around(source, call)
            known = Known(_known(body), results)
            if _is_counter(body, given):
                yield Misread(one, source, given, ast.unparse(given), counts=True)
                return
            better = direction(given, known) or _kept_as_best(body, given)
            if better is not None and better != one.kept:
                yield Misread(one, source, given, ast.unparse(given), counts=False)
                return


def _kept_as_best(body: ast.AST, given: ast.expr) -> str | None:
    """The end that the program itself holds for better: `if value < best: best = value`."""
    said: set[str] = set()
    for node in all_nodes(body, ast.If):
        match node.test:
            case ast.Compare(
                left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as op], comparators=[right]
            ):
                is_less = isinstance(op, ast.Lt | ast.LtE)
                for one, other, end in ((left, right, is_less), (right, left, not is_less)):
                    if ast.unparse(one) == ast.unparse(given) and _takes(node, other, given):
                        said.add(LOWER if end else HIGHER)
    return said.pop() if len(said) == 1 else None


def _takes(node: ast.If, record: ast.expr, given: ast.expr) -> bool:
    """Whether a value becomes the record where it beats it."""
    for one in (inner for part in node.body for inner in all_nodes(part, ast.Assign)):
        pairs = [(target, one.value) for target in one.targets]
        for target, value in list(pairs):
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=False)
        if any(
            ast.unparse(t) == ast.unparse(record) and ast.unparse(v) == ast.unparse(given) for t, v in pairs
        ):
            return True
    return False


def _steps(source: Source, name: str) -> Iterator[ast.Call]:
    """`name.step(value)`, where nothing else in the file has that name."""
    if not name or f"{name}.step(" not in source.text:
        return
    for call in all_nodes(source.tree, ast.Call):
        match call.func:
            case ast.Attribute(value=owner, attr="step"):
                if (dotted(owner) or "").rpartition(".")[2] == name and (call.args or call.keywords):
                    yield call


def _body_around(source: Source, node: ast.AST) -> ast.AST:
    """The innermost function around a place, or the file."""
    line = getattr(node, "lineno", 0)
    around = [
        one
        for one in all_nodes(source.tree)
        if isinstance(one, FunctionNode) and one.lineno <= line <= (one.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.lineno, default=source.tree)


def _known(body: ast.AST) -> dict[str, ast.expr]:
    """The names that are given one value."""
    found: dict[str, list[ast.expr]] = {}
    for node in own_nodes(body) if isinstance(body, FunctionNode) else all_nodes(body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _is_counter(body: ast.AST, given: ast.expr) -> bool:
    """Whether the number is that of the round: the variable of a loop over a range."""
    if not isinstance(given, ast.Name):
        return False
    for loop in all_nodes(body):
        match loop:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"))):
                if name == given.id:
                    return True
    return False


def _told(index: Index, one: Plateau) -> Iterator[Misread]:
    """What a table beside the schedule names for a framework to watch."""
    for table in all_nodes(one.source.tree, ast.Dict):
        entries = {
            key.value: value
            for key, value in zip(table.keys, table.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        held, monitor = entries.get("scheduler", entries.get("lr_scheduler")), entries.get("monitor")
        is_it = held is one.made or (bool(one.name) and (dotted(held) if held else "") == one.name)
        if not is_it or not isinstance(monitor, ast.Constant) or not isinstance(monitor.value, str):
            continue
        better = named_direction(monitor.value) or logged_direction(index, monitor.value)
        if better is not None and better != one.kept:
            yield Misread(one, one.source, monitor, monitor.value, counts=False)
