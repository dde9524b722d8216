"""Rates that follow a count which a checkpoint holds and a resume leaves there: the schedule begins again.

for step in range(total):                       torch.save({"model": ..., "step": step}, path)
    for group in optimizer.param_groups:        state = torch.load(path)     # state["step"]: nowhere
        group["lr"] = rate(step)

The count may be of epochs, an attribute, or that of a `while`; the rate may be written by a function that is
handed the count, or by a schedule that is told it: `scheduler.step(epoch)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role
from stethoscope.program.loop.roles_as_written import role_as_written
from stethoscope.program.resume.checkpointing import Resumption
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site
from stethoscope.run import Source

COUNT_WORDS = frozenset(
    {"epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "it", "round", "update"}
)
LOGGING = frozenset({"print", "info", "debug", "warning", "log", "write"})
Counted = tuple[ast.For | ast.While, str]


@dataclass(frozen=True, slots=True, eq=False)
class CountBegunAnew:
    """A loop that counts from its start, the rate that follows, and the entry that is saved for nothing."""

    loop: Site
    rate: Site
    saved: Site
    key: str


def counts_begun_anew(index: Index, resumption: Resumption) -> Iterator[CountBegunAnew]:
    """The counts that a resume leaves in its checkpoint, where the rate is computed from them."""
    if resumption.counter is not None:
        return
    for body in _bodies(index, resumption):
        for loop, counted in _counting_loops(index, body):
            rate = _rate_of(index, body.source, loop, counted)
            saved = _saved(index, body, counted) if rate is not None else None
            if rate is not None and saved is not None and not _is_read(index, saved[1], saved[2]):
                place = loop.iter if isinstance(loop, ast.For) else loop.test
                yield CountBegunAnew(
                    Site(body.source, place), Site(body.source, rate), Site(saved[0], saved[1]), saved[2]
                )


def _bodies(index: Index, resumption: Resumption) -> list[Function]:
    """The function that reads the checkpoint, with the other methods of its class; else all."""
    function = resumption.weights.within[-1] if resumption.weights.within else None
    if function is None:
        return list(index.bodies)
    if function.owner is None:
        return [function]
    return [body for body in index.bodies if body.owner is function.owner]


# The loop and its count


def _counting_loops(index: Index, body: Function) -> Iterator[Counted]:
    """The loops of a body that count from a number, each with the name of its count."""
    for loop in own_nodes(body.node, ast.For, ast.While):
        match loop:
            case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"), args=[begin, *others])):
                if not others or _is_number(index, body, begin):
                    yield from _of_name(loop, target)
            case ast.While(test=ast.Compare(left=count)) if _is_raised(loop, count):
                if _is_number(index, body, count):
                    yield from _of_name(loop, count)


def _of_name(loop: ast.For | ast.While, count: ast.expr) -> Iterator[Counted]:
    name = dotted(count)
    if name is not None:
        yield loop, name


def _is_raised(loop: ast.While, count: ast.expr) -> bool:
    raised = (node for node in all_nodes(loop, ast.AugAssign) if isinstance(node.op, ast.Add))
    return any(dotted(node.target) == dotted(count) for node in raised)


def _is_number(index: Index, body: Function, node: ast.expr) -> bool:
    """Whether a start is a number, or a name that nothing but numbers and sums with itself are given to."""
    if isinstance(node, ast.Constant):
        return True
    name = dotted(node)
    bodies = [body] if isinstance(node, ast.Name) else index.bodies
    if name is None or (not isinstance(node, ast.Name) and not name.startswith("self.")):
        return False
    given = [value for one in bodies for target, value in _assigned(one) if target == name]
    return bool(given) and all(isinstance(value, ast.Constant) for value in given)


def _assigned(body: Function) -> Iterator[tuple[str, ast.expr]]:
    """What the names of a function are given, pairs of tuples one by one; what is raised by 1 stays out."""
    for one in own_nodes(body.node):
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                pairs = [(target, value) for target in targets]
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs = [(target, value)]
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant()):
                pairs = []
            case ast.AugAssign(target=target, value=value):
                pairs = [(target, ast.BinOp(target, one.op, value))]
            case _:
                continue
        yield from ((name, value) for target, value in pairs if (name := dotted(target)) is not None)


# The rate that follows


def _rate_of(index: Index, source: Source, loop: ast.For | ast.While, counted: str) -> ast.expr | None:
    """What makes the rate follow the count: a value for `group["lr"]`, or a call that is handed the count."""
    names = {counted}
    for node in all_nodes(loop, ast.Assign):
        match node.targets[0]:
            case ast.Subscript(slice=ast.Constant(value="lr")) if names & _names(node.value):
                return node.value
            case ast.Name(id=name) if names & _names(node.value) and "lr" in words(name):
                names.add(name)
    for call in all_nodes(loop, ast.Call):
        handed = [*call.args, *(word.value for word in call.keywords)]
        if any(counted in _names(one) for one in handed) and _sets_rate(index, source, call):
            return call
    return None


def _sets_rate(index: Index, source: Source, call: ast.Call) -> bool:
    """Whether a call is the step of a schedule, or of a function of the program that writes rates."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in {"step", "step_update"}:
        return role_as_written(source, func.value) is Role.SCHEDULER
    called = index.functions_named(str(getattr(func, "attr", getattr(func, "id", ""))))
    return any(_writes_rates(function) for function in called)


def _writes_rates(function: Function) -> bool:
    targets = (node.targets[0] for node in own_nodes(function.node, ast.Assign))
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "lr"
        for target in targets
    )


# What is saved, and whether anything reads it


def _saved(index: Index, body: Function, counted: str) -> tuple[Source, ast.expr, str] | None:
    """The entry of a table for a file that holds the count: where, what, and its key."""
    bodies = [body] if body.owner is None else [one for one in index.bodies if one.owner is body.owner]
    for one in bodies:
        called = {counted} if one is body or counted.startswith("self.") else set(one.parameters) - {"self"}
        for node in own_nodes(one.node):
            pairs = _entries(node)
            holds_state = any("state_dict" in ast.unparse(value) for _, value in pairs)
            for key, value in pairs if holds_state else ():
                names = _names(value)
                if len(names) == 1 and names <= called and _is_count(key, names, counted):
                    return one.source, value, key
    return None


def _entries(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """The entries of a table with names for keys."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return [(word.arg, word.value) for word in node.keywords if word.arg is not None]
    return []


def _is_count(key: str, names: set[str], counted: str) -> bool:
    """Whether an entry is the count itself, or a parameter that is called as counts are."""
    return counted in names or bool(COUNT_WORDS & {*words(key), *words(next(iter(names)))})


def _is_read(index: Index, asked: ast.expr, key: str) -> bool:
    """Whether anything but a message takes such an entry out of a table, or goes through the tables whole."""
    for source in index.program:
        if _takes_whole(source):
            return True
        if key not in source.text:
            continue
        called = {id(call.func) for call in all_nodes(source.tree, ast.Call)}  # `optimizer.step()`
        told = {
            id(one)
            for call in all_nodes(source.tree, ast.Call)
            if _is_message(call)
            for one in all_nodes(call)
        }
        keys = {id(one) for table in all_nodes(source.tree, ast.Dict) for one in table.keys}
        keys |= {
            id(one.slice) for one in all_nodes(source.tree, ast.Subscript) if isinstance(one.ctx, ast.Store)
        }
        for node in all_nodes(source.tree):
            if id(node) in told:
                continue
            match node:
                case ast.Subscript(slice=ast.Constant(value=value), ctx=ast.Load()) if value == key:
                    return True
                case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Load()) if name == key:
                    if id(node) not in called and owner not in {"self", "args", "cfg", "config", "opt"}:
                        return True
                case ast.Constant(value=value) if value == key and id(node) not in keys:
                    return True
    return False


def _takes_whole(source: Source) -> bool:
    """Whether entries may be taken without being named: `setattr(self, key, value)`, `state.values()`."""
    if any(word in source.text for word in ("setattr(", "__dict__", "vars(self)")):
        return True
    read = {
        name
        for made in all_nodes(source.tree, ast.Assign)
        if isinstance(made.value, ast.Call) and "load" in words(bare_name(made.value))
        for target in made.targets
        if (name := dotted(target)) is not None
    }
    methods = (one for one in all_nodes(source.tree, ast.Attribute) if one.attr in {"values", "items"})
    return any(dotted(one.value) in read for one in methods)


def _is_message(call: ast.Call) -> bool:
    return str(getattr(call.func, "attr", getattr(call.func, "id", ""))) in LOGGING


def _names(node: ast.AST) -> set[str]:
    """The variables of an expression, and the attributes of `self`; `self` itself is none."""
    attributes = {name for one in all_nodes(node, ast.Attribute) if (name := dotted(one)) is not None}
    return {name for name in attributes if name.startswith("self.")} | {
        one.id for one in all_nodes(node, ast.Name) if one.id != "self"
    }
