"""What the rounds of a loop count or switch: in one round that stands for all, it is not known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard

from stethoscope.program.index import Class
from stethoscope.program.syntax import FunctionNode, all_nodes, own_nodes
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.instance_attributes import instance_attribute
from stethoscope.program.walk.values import Choice, Constant, Instance, Items, Leaf, Value
from stethoscope.run import Source

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def forget_counters(run: Execution, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> None:
    """One round stands for all of them, so what rounds count or switch is not known in it."""
    if not run.tracing:
        return
    for target in (*_counted(node), *_counted_by_settings(run, node, frame)):
        match target:
            case ast.Name(id=name) if _is_number(frame.names.get(name)):
                frame.names[name] = Leaf(name)
                note_counter(run, node, frame.names[name])
            case ast.Name(id=name) if id(frame.names.get(name)) in run.counted_by:
                note_counter(run, node, frame.names[name])  # the loop inside it counts what goes through both
            case ast.Attribute(value=base, attr=name):
                holder = _held(base, frame)
                known = instance_attribute(run, holder, name) if isinstance(holder, Instance) else None
                if isinstance(holder, Instance) and isinstance(known, Constant):
                    leaf = Leaf(name)
                    is_switch = isinstance(known.value, bool)
                    run.store(holder, name, leaf)
                    if not is_switch:
                        note_counter(run, node, leaf)
    for holder in _objects(frame):
        for name in counted_attributes(holder.cls):
            if isinstance(holder.attributes.get(name), Constant):
                leaf = Leaf(name)
                run.store(holder, name, leaf)
                note_counter(run, node, leaf)
    for name in _begun(node):
        value = frame.names.get(name)
        if isinstance(value, Constant) and value.value is None:
            frame.names[name] = Leaf(name)


def _held(base: ast.expr, frame: Frame) -> Value | None:
    """The object that an attribute is of: `self`, or `self.state` where that is known."""
    match base:
        case ast.Name(id=name):
            return frame.names.get(name)
        case ast.Attribute(value=inner, attr=name):
            holder = _held(inner, frame)
            return holder.attributes.get(name) if isinstance(holder, Instance) else None
    return None


def _objects(frame: Frame) -> Iterator[Instance]:
    """The objects that the rounds of a loop may count in: those with a name here, and what they hold."""
    named = [value for value in frame.names.values() if isinstance(value, Instance)]
    held = [value for one in named for value in one.attributes.values() if isinstance(value, Instance)]
    yield from {id(one): one for one in (*named, *held)}.values()


@lru_cache(maxsize=1024)
def counted_attributes(cls: Class) -> frozenset[str]:
    """The numbers of an object that its methods move on: `self.at = (self.at + size) % count`."""
    found: set[str] = set()
    for name, method in cls.methods.items():
        if name in {"__init__", "__post_init__", "forward"}:
            continue
        grown = (node.target for node in own_nodes(method.node, ast.AugAssign))
        found.update(target.attr for target in grown if _is_own(target))
        for node in own_nodes(method.node, ast.Assign):
            own = (target for target in node.targets if _is_own(target))
            found.update(target.attr for target in own if _reads_itself(node.value, target.attr))
    return frozenset(found)


def _is_own(target: ast.expr) -> TypeGuard[ast.Attribute]:
    """`self.at`"""
    return isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"


def _reads_itself(value: ast.expr, name: str) -> bool:
    read = (one for one in all_nodes(value, ast.Attribute) if one.attr == name)
    return any(ast.unparse(one.value) == "self" for one in read)


def _is_number(value: Value | None) -> bool:
    """Whether a value is known, or one of several of which one is: a count that a resume may have set."""
    options = value.options if isinstance(value, Choice) else (value,)
    return any(isinstance(one, Constant) for one in options)


def note_counter(run: Execution, loop: ast.For | ast.AsyncFor | ast.While, value: Value) -> None:
    """Remember which loop counts a number: `for epoch in range(...)`, `for i, batch in enumerate(...)`."""
    numbers = value.items if isinstance(value, Items) else (value,)
    for number in numbers if run.tracing else ():
        if isinstance(number, Leaf):
            run.counted_by[id(number)] = (number, loop)


@lru_cache(maxsize=4096)
def _counted(loop: ast.For | ast.AsyncFor | ast.While) -> tuple[ast.expr, ...]:
    """What the body of a loop counts up (`step += 1`) or switches (`first = False`)."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant):
            found.append(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found.extend(node.targets)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting.extend(getattr(node, block, ()))
    return tuple(found)


def _counted_by_settings(
    run: Execution, loop: ast.For | ast.AsyncFor | ast.While, frame: Frame
) -> Iterator[ast.expr]:
    """What the body counts up by a number that stands elsewhere: `seen += config.batch_size`."""
    for target, step in _counted_by(loop):
        if isinstance(run.evaluate(step, frame), Constant):
            yield target


@lru_cache(maxsize=4096)
def _counted_by(loop: ast.For | ast.AsyncFor | ast.While) -> tuple[tuple[ast.expr, ast.expr], ...]:
    made = {
        name.id
        for statement in loop.body
        for name in all_nodes(statement, ast.Name)
        if isinstance(name.ctx, ast.Store)
    }
    return tuple(
        (node.target, node.value)
        for statement in loop.body
        for node in all_nodes(statement, ast.AugAssign)
        if isinstance(node.value, ast.Attribute | ast.Name | ast.Subscript)
        and not any(name.id in made for name in all_nodes(node.value, ast.Name))
    )


@lru_cache(maxsize=4096)
def _begun(loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """The names that a loop's body computes from themselves: None is only what the first round sees.

    `average = loss if average is None else 0.9 * average + 0.1 * loss`, and what is asked for None and set:
    `if lowest is None or loss < lowest: lowest = loss`.
    """
    found: set[str] = set()
    asked: set[str] = set()
    stored: set[str] = set()
    for statement in loop.body:
        for node in all_nodes(statement):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and _is_about_none(node):
                asked.add(node.left.id)
            if not isinstance(node, ast.Assign):
                continue
            stored.update(n.id for t in node.targets for n in all_nodes(t, ast.Name))
            read = {n.id for n in all_nodes(node.value, ast.Name)}
            found.update(t.id for t in node.targets if isinstance(t, ast.Name) and t.id in read)
    return frozenset(found | (asked & stored))


@lru_cache(maxsize=256)
def counted_globals(source: Source) -> frozenset[str]:
    """The names of a file that its functions count up: `global next_row`, `next_row += size`.

    What such a name is in a call depends on the calls before.
    """
    found: set[str] = set()
    for function in all_nodes(source.tree):
        if not isinstance(function, FunctionNode):
            continue
        shared = {name for one in own_nodes(function, ast.Global) for name in one.names}
        if shared:
            grown = (one.target for one in own_nodes(function, ast.AugAssign))
            found.update(shared & {one.id for one in grown if isinstance(one, ast.Name)})
    return frozenset(found)


def _is_about_none(node: ast.Compare) -> bool:
    """`x is None`, `x is not None`."""
    return any(isinstance(other, ast.Constant) and other.value is None for other in node.comparators)
