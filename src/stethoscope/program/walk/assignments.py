"""Giving a value to what stands on the left of an assignment: a name, attribute or item, or several."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import Applied, Constant, Items, Site, Table, Value, is_key

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution


def assign(run: Execution, target: ast.expr, value: Value, frame: Frame) -> None:
    """`target = value`."""
    match target:
        case ast.Name(id=name):
            frame.names[name] = value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element, piece in zip(elements, run.pieces(value, len(elements)), strict=False):
                assign(run, element, piece, frame)
        case ast.Starred(value=inner):
            assign(run, inner, value, frame)
        case ast.Attribute(value=base, attr=name):
            run.store(run.evaluate(base, frame), name, value)
        case ast.Subscript(value=base, slice=key):
            _store_item(run, base, run.evaluate(key, frame), value, target, frame)


def _store_item(
    run: Execution, base_node: ast.expr, key: Value, value: Value, target: ast.expr, frame: Frame
) -> None:
    base, key = run.force(run.evaluate(base_node, frame)), run.force(key)
    match base, key:
        case Table(entries=entries), Constant(value=known) if is_key(known):
            run.write(entries, known, value)
        case Table(rest=rest), _:
            rest.append(value)
        case Items(items=items), Constant(value=int() as position) if -len(items) <= position < len(items):
            items[position] = value
        case Items(items=items), _:
            items.append(value)
        case _:
            site = Site(frame.module.source, target)
            assign(run, base_node, Applied("[]=", (base, key, value), {}, site), frame)
