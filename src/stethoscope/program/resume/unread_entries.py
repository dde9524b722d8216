"""What a checkpoint holds and a resume leaves there: averages of the weights, and the best score so far.

The average is made of a network that was not loaded yet, so after the resume it is one of random weights. A
record that begins anew is beaten by the first score behind the resume, whatever that is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

AVERAGES = frozenset({"ema", "shadow", "swa", "averaged", "average", "polyak"})
BEST = frozenset({"best", "record"})
OPTIMIZERS = frozenset({"optimizer", "optim", "opt", "optimiser"})
ASKING = frozenset({"get", "pop"})


@dataclass(frozen=True, slots=True, eq=False)
class UnreadEntry:
    """The entry of the checkpoint, where it is saved, and the load that does not ask for it."""

    name: str
    saved: Site
    loaded: Site


@dataclass(frozen=True, slots=True, eq=False)
class _Load:
    """A checkpoint that a function reads, and the entries that it takes out of it."""

    function: Function
    node: ast.Assign
    keys: frozenset[str]


@remembered
def unread_averages(index: Index) -> tuple[UnreadEntry, ...]:
    """Every average that is saved beside what a resume takes up, and that nothing ever asks for."""
    sources, loads = _resumes(index)
    return tuple(_unread(sources, loads))


@remembered
def unread_records(index: Index) -> tuple[UnreadEntry, ...]:
    """Every best score that is saved beside what a resume takes up, and that nothing ever asks for."""
    sources, loads = _resumes(index)
    return tuple(_unread_records(sources, loads))


def _resumes(index: Index) -> tuple[set[Source], list[_Load]]:
    bodies = [one for one in index.bodies if not is_test(one.source)]
    return {one.source for one in bodies}, [load for function in bodies for load in _loads(function)]


def _loads(function: Function) -> Iterator[_Load]:
    if "load(" not in function.source.text:
        return
    for node in own_nodes(function.node, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made) if (
                dotted(made.func) or ""
            ).endswith("torch.load"):
                keys = _keys_of(function, name, node)
                if keys is not None:
                    yield _Load(function, node, keys)


def _keys_of(function: Function, name: str, load: ast.Assign) -> frozenset[str] | None:
    """What is taken out of a table by name, until the name is another's; None where it goes on as a whole."""
    uses = [one for one in all_nodes(function.node, ast.Name) if one.id == name]
    first = load.end_lineno or load.lineno
    later = (one.lineno for one in uses if isinstance(one.ctx, ast.Store) and one.lineno > first)
    last = min(later, default=function.source.text.count("\n") + 1)
    reads = [one for one in uses if isinstance(one.ctx, ast.Load) and first < one.lineno < last]
    asked = (one for one in all_nodes(function.node) if first < getattr(one, "lineno", 0) < last)
    taken = [key for one in asked if (key := _key(one, name)) is not None]
    return frozenset(taken) if len(taken) == len(reads) else None


def _key(node: ast.AST, name: str) -> str | None:
    """The entry that an expression takes out of a table, or asks for."""
    match node:
        case ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(value=str() as key)) if of == name:
            return key
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=of), attr=asking),
            args=[ast.Constant(value=str() as key), *_],
        ) if of == name and asking in ASKING:
            return key
        case ast.Compare(
            left=ast.Constant(value=str() as key),
            ops=[ast.In() | ast.NotIn()],
            comparators=[ast.Name(id=of)],
        ) if of == name:
            return key
    return None


def _unread(sources: set[Source], loads: list[_Load]) -> Iterator[UnreadEntry]:
    asked = frozenset(key for load in loads for key in load.keys)
    for source in sources:
        for table, entries in _tables(source):
            averages = [name for name in entries if AVERAGES & set(words(name)) and name not in asked]
            load = next((one for one in loads if _takes_up(one, entries)), None)
            if load is None or any(AVERAGES & set(words(key)) for key in load.keys):
                continue
            for name in averages:
                if is_mentioned_elsewhere(sources, name) or not _is_made_before(load, name):
                    continue
                yield UnreadEntry(name, Site(source, table), Site(load.function.source, load.node))


def _unread_records(sources: set[Source], loads: list[_Load]) -> Iterator[UnreadEntry]:
    asked = frozenset(key for load in loads for key in load.keys)
    for source in sources:
        for table, entries in _tables(source) if loads else ():
            load = next((one for one in loads if _takes_up(one, entries)), None)
            for name, value in entries.items() if load is not None else ():
                kept = (dotted(value) or "").rpartition(".")[2]
                if not BEST & set(words(name)) or name in asked or not kept:
                    continue
                if (
                    load is not None
                    and _is_beaten(source, kept)
                    and not is_mentioned_elsewhere(sources, name)
                ):
                    yield UnreadEntry(name, Site(source, table), Site(load.function.source, load.node))


def _is_beaten(source: Source, kept: str) -> bool:
    """Whether a score is compared with what a name holds, and kept in its place: `best = acc`."""
    compared = any(
        (dotted(side) or "").rpartition(".")[2] == kept
        for node in all_nodes(source.tree, ast.Compare)
        if isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        for side in (node.left, *node.comparators)
    )
    return compared and any(
        (dotted(one) or "").rpartition(".")[2] == kept and not isinstance(node.value, ast.Constant)
        for node in all_nodes(source.tree, ast.Assign)
        for target in node.targets
        for one in (target.elts if isinstance(target, ast.Tuple) else [target])
    )


def _tables(source: Source) -> Iterator[tuple[ast.expr, dict[str, ast.expr]]]:
    """The tables of states that are written out: `{"model": net.state_dict(), ...}`, `dict(model=...)`."""
    if "state_dict()" not in source.text:
        return
    for node in all_nodes(source.tree, ast.Dict, ast.Call):
        entries: dict[str, ast.expr] = {}
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            entries = {
                key.value: value
                for key, value in pairs
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
        elif isinstance(node, ast.Call) and bare_name(node) == "dict":
            entries = {word.arg: word.value for word in node.keywords if word.arg}
        if any(
            isinstance(value, ast.Call) and bare_name(value) == "state_dict" for value in entries.values()
        ):
            assert isinstance(node, ast.expr)
            yield node, entries


def _takes_up(load: _Load, entries: dict[str, ast.expr]) -> bool:
    """Whether a training goes on from such a checkpoint: weights and optimizer come out of it."""
    common = load.keys & set(entries)
    return len(common) > 1 and any(OPTIMIZERS & set(words(key)) for key in common)


def is_mentioned_elsewhere(sources: Iterable[Source], name: str) -> bool:
    """Whether a text that is this name stands anywhere but as the key of a table."""
    for source in sources:
        keys = {id(key) for node in all_nodes(source.tree, ast.Dict) for key in node.keys}
        for node in all_nodes(source.tree, ast.Constant):
            if node.value == name and id(node) not in keys:
                return True
    return False


def _is_made_before(load: _Load, name: str) -> bool:
    """Whether the average is there before the weights are loaded, in the same function or in `__init__`."""
    init = load.function.owner.methods.get("__init__") if load.function.owner is not None else None
    places = [(load.function, load.node.lineno)]
    if init is not None and init is not load.function:
        places.append((init, init.node.end_lineno or 0))
    return any(
        node.lineno < end
        and isinstance(node.value, ast.Call)
        and bare_name(node.value) != "AveragedModel"  # whose first update copies the weights that are there
        and _is_average(node.targets, name)
        for function, end in places
        for node in own_nodes(function.node, ast.Assign)
    )


def _is_average(targets: list[ast.expr], name: str) -> bool:
    spoken = {word for one in targets for word in words((dotted(one) or "").rpartition(".")[2])}
    return bool(spoken & (AVERAGES & set(words(name))))
