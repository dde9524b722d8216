"""What is written out as a list or dict, or made by a comprehension."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stethoscope.program.walk.arithmetic import truth
from stethoscope.program.walk.assignments import assign
from stethoscope.program.walk.builtin_calls import CONCRETE_ROUNDS, range_elements
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.given_back import moved
from stethoscope.program.walk.settings_paths import SETTINGS_READERS
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Items,
    Leaf,
    Part,
    Settings,
    Table,
    Value,
    is_key,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def comprehended(run: Execution, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame) -> Value:
    """`[f(x) for x in xs]`."""
    found: list[Value] = []
    _comprehend(run, node.generators, frame, lambda f: found.append(run.evaluate(node.elt, f)))
    return Items(found)


def comprehended_pieces(
    run: Execution, node: ast.GeneratorExp | ast.ListComp, count: int, frame: Frame
) -> Value:
    """`h, w = (f(side) for side in shape)`: as many elements as there are names."""
    iterable = run.evaluate(node.generators[0].iter, frame)
    items: list[Value] = []
    for element in run.pieces(iterable, count):
        inner = Frame(frame.module, dict(frame.names), frame.around, frame.function, frame.cls)
        assign(run, node.generators[0].target, element, inner)
        items.append(run.evaluate(node.elt, inner))
    return Items(items)


def unstarred(run: Execution, elements: Sequence[ast.expr], frame: Frame) -> list[Value]:
    """The elements of `[a, *b]`."""
    found: list[Value] = []
    for element in elements:
        if isinstance(element, ast.Starred):
            found.extend(run.elements(run.evaluate(element.value, frame)))
        else:
            found.append(run.evaluate(element, frame))
    return found


def dict_display(
    run: Execution, keys: Sequence[ast.expr | None], values: list[ast.expr], frame: Frame
) -> Value:
    """`{key: value, **others}`."""
    table = Table({})
    for key_node, value_node in zip(keys, values, strict=True):
        value = run.evaluate(value_node, frame)
        if key_node is None:
            spread = run.force(value)
            if isinstance(spread, Settings) and isinstance(spread.tree, dict):
                table.entries.update({name: run.part(spread, name) for name in spread.tree})
            if isinstance(spread, Table):
                table.entries.update(spread.entries)
                table.rest.extend(spread.rest)
            continue
        _put(run, table, run.evaluate(key_node, frame), value)
    return table


def dict_comprehension(run: Execution, node: ast.DictComp, frame: Frame) -> Value:
    """`{key: value for x in xs}`."""
    mapped = _moved_mapping(run, node, frame)
    if mapped is not None:
        return mapped
    table = Table({})

    def visit(inner: Frame) -> None:
        _put(run, table, run.evaluate(node.key, inner), run.evaluate(node.value, inner))

    _comprehend(run, node.generators, frame, visit)
    return table


def _moved_mapping(run: Execution, node: ast.DictComp, frame: Frame) -> Value | None:
    """`{k: v.to(device) for k, v in batch.items()}` is the batch, where that is not known by its keys."""
    match node:
        case ast.DictComp(
            key=ast.Name(id=key),
            generators=[
                ast.comprehension(
                    target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                    iter=ast.Call(func=ast.Attribute(value=mapping, attr="items")),
                    ifs=tests,
                )
            ],
        ) if key == first:
            held = run.force(run.evaluate(mapping, frame))
            is_read = isinstance(held, Applied) and held.callee in SETTINGS_READERS
            if not is_read and (tests or not isinstance(held, Leaf | Part)):
                return None
            element = Part(held, "*")
            names = {**frame.names, first: Leaf(first), second: element}
            inner = Frame(frame.module, names, frame.around, frame.function, frame.cls)
            made = run.evaluate(node.value, inner)
            options = made.options if isinstance(made, Choice) else (made,)
            return held if all(moved(option) is element for option in options) else None
    return None


def _put(run: Execution, table: Table, key: Value, value: Value) -> None:
    key = run.force(key)
    if isinstance(key, Constant) and is_key(key.value):
        table.entries[key.value] = value
    else:
        table.rest.append(value)


def _comprehend(
    run: Execution, generators: list[ast.comprehension], frame: Frame, visit: Callable[[Frame], None]
) -> None:
    if not generators:
        visit(frame)
        return
    first, *others = generators
    iterable = run.evaluate(first.iter, frame)
    if isinstance(iterable, Applied) and iterable.callee == "range":
        elements = range_elements(iterable.args, CONCRETE_ROUNDS)
    else:
        elements = run.elements(iterable)
    with run.inside("comprehension", first, frame, iterable):
        for element in elements:
            inner = Frame(frame.module, dict(frame.names), frame.around, frame.function, frame.cls)
            assign(run, first.target, element, inner)
            if all(truth(run.evaluate(test, inner)) is not False for test in first.ifs):
                _comprehend(run, others, inner, visit)
