"""Rates that a training loop computes with every round and hands to no optimizer.

lr = rate_at(step)
...
print(f"{step} {loss:.4f} {lr:.2e}")  nothing else reads it

Nobody writes the rate of a group in the whole program, and no scheduler is moved. A rate that is written
where no optimizer of torch reads it, `optimizer.lr = lr` or `optimizer.defaults["lr"] = lr`, is handed to
none either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.ramps import SPEAKING
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.parameter_owners import Holder, holder_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment
from stethoscope.program.walk.values import Applied, Constant, Delayed, Leaf, Part, Site, Value
from stethoscope.run import Source

RATES = frozenset({"lr", "lrs"})
LEARNING = frozenset({"learning", "rate"})
# What only tells of a number; a table of the names a row has is told of as well.
TELLING = SPEAKING | {"append", "extend", "update", "writerow", "dumps", "dump", "warn", "echo", "setdefault"}
ASKING = frozenset({".get_last_lr", ".get_lr", ".state_dict", ".item"})
ADAPTIVE = ("prodigy", "dadapt", "schedulefree")


@dataclass(frozen=True, slots=True, eq=False)
class UnsetRate:
    """Where a rate is computed, its name, and where the optimizer was made that never hears of it."""

    site: Site
    name: str
    optimizer: Site


def unset_rates(loop: TrainingLoop) -> Iterator[UnsetRate]:
    """The rates of a loop that only messages and records get."""
    updates = [move for move in loop.moves if move.updates and not move.by_engine]
    moved = any(move.kind is Kind.SCHEDULER_STEP for move in (*loop.before, *loop.moves, *loop.after))
    if not updates or moved or loop.body is None or loop.body.kind != "loop" or writes_rates(loop.run.index):
        return
    made = [holder for move in updates for holder in holder_of(loop.trace, move.subject)]
    if not made or any(word in holder.call.site.text.lower() for holder in made for word in ADAPTIVE):
        return
    seen: set[str] = set()
    for event in loop.events:
        if not isinstance(event, Assignment) or event.operator or not isinstance(event.target, ast.Name):
            continue
        name = event.target.id
        if name in seen or not _is_computed(loop, event.value):
            continue
        if not _is_rate(name) and not ("rate" in words(name) and _has_part(loop, made, event.value)):
            continue
        seen.add(name)
        around = event.within[-1].node if event.within else event.site.source.tree
        if _is_only_told(event.site.source, around, name):
            yield UnsetRate(event.site, name, made[0].call.site)


def unread_rates(loop: TrainingLoop) -> Iterator[UnsetRate]:
    """The rates that a loop writes into an optimizer beside its groups."""
    if any(_writes_rate_of_group(one) for source in loop.run.index.program for one in all_nodes(source.tree)):
        return
    for event in loop.events:
        if not isinstance(event, Assignment) or event.owner is None:
            continue
        optimizer = _written_beside(loop, event.target, quietly(loop.run, event.owner))
        if not isinstance(optimizer, Applied):
            continue
        if optimizer.callee.startswith("torch.optim.") and "lr_scheduler" not in optimizer.callee:
            yield UnsetRate(event.site, ast.unparse(event.target), optimizer.site)


def _written_beside(loop: TrainingLoop, target: ast.AST, owner: Value) -> Value | None:
    """What `optimizer.lr = ..` or `optimizer.defaults["lr"] = ..` writes into."""
    match target, owner:
        case ast.Attribute(attr="lr" | "learning_rate"), _:
            return owner
        case ast.Subscript(slice=ast.Constant(value="lr")), Part(base=base, key="defaults"):
            return quietly(loop.run, base)
    return None


def _writes_rate_of_group(node: ast.AST) -> bool:
    """Whether the rate of a group may be written: `group["lr"] = lr`, `group.update(lr=lr)`."""
    match node:
        case ast.Subscript(value=base, slice=ast.Constant(value="lr"), ctx=ast.Store()):
            return getattr(base, "attr", "") != "defaults"
        case ast.Call(func=ast.Attribute(attr="update" | "add_param_group")):
            return "lr" in ast.unparse(node)
    return False


def _is_rate(name: str) -> bool:
    spoken = set(words(name))
    return bool(spoken & RATES) or spoken >= LEARNING


def _has_part(loop: TrainingLoop, made: list[Holder], value: Value) -> bool:
    """Whether the rate that an optimizer was made with has a part in a value."""
    given = [one for holder in made if (one := holder.call.argument(1, "lr")) is not None]
    numbers = [one.value for one in given if isinstance(one, Constant)]
    return any(
        any(one is rate for rate in given) or (isinstance(one, Constant) and one.value in numbers)
        for one in ancestry(loop.run, value)
    )


def _is_computed(loop: TrainingLoop, value: Value) -> bool:
    """Whether a value goes by the number of the round, and is not asked of an optimizer or a scheduler."""
    run, goes_by_round = loop.run, False
    if not isinstance(value, Applied | Delayed):
        return False
    nodes = {id(scope.node) for scope in loop.loops}
    for one in ancestry(run, value):
        if isinstance(one, Part) and one.key in {"param_groups", "defaults"}:
            return False
        if isinstance(one, Applied) and one.callee in ASKING:
            return False
        if isinstance(one, Leaf) and id(one) in run.counted_by:
            goes_by_round = goes_by_round or id(run.counted_by[id(one)][1]) in nodes
    return goes_by_round


@remembered
def writes_rates(index: Index) -> bool:
    """Whether anything in the program may write the rate of an optimizer."""
    return any(_writes_rate(one, source) for source in index.program for one in all_nodes(source.tree))


def _writes_rate(node: ast.AST, source: Source) -> bool:
    match node:
        case ast.Subscript(value=base, slice=ast.Constant(value="lr"), ctx=ast.Store()):
            return not (isinstance(base, ast.Name) and _is_table(source, base.id))
        case ast.Attribute(attr="lr" | "learning_rate", ctx=ast.Store(), value=base):
            return not (isinstance(base, ast.Name) and base.id == "self")
        case ast.Call(func=ast.Attribute(attr="load_state_dict" | "state_dict")):
            return False
        case ast.Call(func=ast.Attribute(attr="update", value=base)):  # group.update(lr=rate)
            return _is_of_groups(source, base)
        case ast.Call(func=ast.Attribute(attr=attr) | ast.Name(id=attr)):
            spoken = set(words(attr))
            return attr in {"setattr", "vars"} or (
                bool(spoken & {"set", "adjust", "update", "apply"}) and bool(spoken & {"lr", "rate"})
            )
    return False


def _is_of_groups(source: Source, base: ast.expr) -> bool:
    """Whether a table is a group of an optimizer, or comes out of the list of them."""
    gone_through = (
        loop.iter
        for loop in all_nodes(source.tree, ast.For)
        if any(ast.unparse(target) == ast.unparse(base) for target in ast.walk(loop.target))
    )
    return any("group" in ast.unparse(one) for one in (base, *gone_through))


def _is_table(source: Source, name: str) -> bool:
    """Whether a name is given a table of its own wherever it is given anything."""
    given = [
        one.value
        for one in all_nodes(source.tree, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
    ]
    looped = any(
        isinstance(target, ast.Name) and target.id == name
        for loop in all_nodes(source.tree, ast.For)
        for target in all_nodes(loop.target)
    )
    made = (isinstance(one, ast.Dict) or _called(one) == "dict" for one in given)
    return bool(given) and all(made) and not looped


def _called(node: ast.AST) -> str:
    func = node.func if isinstance(node, ast.Call) else None
    return str(getattr(func, "attr", None) or getattr(func, "id", ""))


def _is_only_told(source: Source, around: ast.AST, name: str) -> bool:
    """Whether every place that reads a name writes it down for people."""
    parents = {id(inner): outer for outer in all_nodes(around) for inner in ast.iter_child_nodes(outer)}
    reads = [one for one in all_nodes(around, ast.Name) if one.id == name and isinstance(one.ctx, ast.Load)]
    is_own = isinstance(around, FunctionNode)
    shared = any(
        name in one.names for one in all_nodes(source.tree) if isinstance(one, ast.Global | ast.Nonlocal)
    )
    return (is_own or not shared) and all(_is_told(one, parents, source) for one in reads)


def _is_told(node: ast.AST, parents: dict[int, ast.AST], source: Source) -> bool:
    while True:
        outer = parents.get(id(node))
        match outer:
            case ast.JoinedStr() | ast.FormattedValue():
                return True
            case ast.Call() if _called(outer) in TELLING:
                return True
            case ast.Call() if _called(outer) in {"float", "round", "str", "format", "dict"}:
                pass
            case ast.Dict() | ast.Tuple() | ast.List() | ast.keyword() | ast.IfExp():
                pass
            case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
                return True
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=table), slice=ast.Constant())]):
                return _is_table(source, table)
            case ast.Assign(targets=[ast.Attribute(attr=kept)]):
                return _is_attribute_told(kept, source)
            case ast.Assign(targets=[ast.Name()], value=ast.Dict() as table):
                keys = {str(getattr(key, "value", "")) for key in table.keys}
                return bool({"loss", "step", "iter", "epoch"} & {word for key in keys for word in words(key)})
            case _:
                return False
        node = outer


def _is_attribute_told(name: str, source: Source) -> bool:
    """Whether every place of the file that reads an attribute writes it down for people."""
    reads = [
        one
        for one in all_nodes(source.tree, ast.Attribute)
        if one.attr == name and isinstance(one.ctx, ast.Load)
    ]
    parents = {id(inner): outer for outer in all_nodes(source.tree) for inner in ast.iter_child_nodes(outer)}
    kept = (parents.get(id(one)) for one in reads)
    is_kept_on = any(isinstance(one, ast.Assign) for one in kept)
    return bool(reads) and not is_kept_on and all(_is_told(one, parents, source) for one in reads)
