"""Whether the data that a loop runs over are held out, by what they are called on their way there.

A function that measures calls its data `batches` or `self.loader`; whoever made them called them `val_set`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.likenesses import words
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Event
from stethoscope.program.walk.values import Applied, Constant, Instance, Items, Part, Value, inputs

# fmt: off
HELD_OUT = frozenset({
    "val", "valid", "validation", "test", "eval", "dev", "holdout", "heldout", "held", "evaluation", "vali",
    "tst", "unseen",
})
TRAINING = frozenset({"train", "training", "fit", "trainer"})
# fmt: on
STEPS_BACK = 5  # from a loader to what its data were read from
MOST_LOOKED = 200


def names_given(events: Sequence[Event]) -> dict[int, list[str]]:
    """The names that values are assigned to, by the id of the value."""
    found: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, Assignment) and not event.operator:
            for target, value in paired(event.target, event.value):
                name = _last_name(target)
                if name and not isinstance(value, Constant):
                    found.setdefault(id(value), []).append(name)
    return found


def paired(target: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """Each target of an assignment with what it is given."""
    if isinstance(target, ast.Tuple | ast.List):
        if isinstance(value, Items) and len(value.items) == len(target.elts):
            for one, item in zip(target.elts, value.items, strict=True):
                yield from paired(one, item)
    else:
        yield target, value


def _last_name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def are_held_out(value: Value | None, names: dict[int, list[str]]) -> bool | None:
    """Whether data are called held-out, nearest name first; None where nothing speaks of it."""
    level = [value] if value is not None else []
    seen: set[int] = set()
    for _ in range(STEPS_BACK):
        spoken = {word for one in level for name in _names(one, names) for word in words(name)}
        if spoken & (HELD_OUT | TRAINING):
            return not spoken & TRAINING
        seen |= {id(one) for one in level}
        level = [one for held in level for one in _behind(held) if id(one) not in seen][:MOST_LOOKED]
        if not level:
            return None
    return None


def _names(value: Value, names: dict[int, list[str]]) -> Iterator[str]:
    yield from names.get(id(value), ())
    match value:
        case Part(key=str() as key):
            yield key
        case Applied(site=site) as made:
            yield from _written(site.node)
            yield from (
                arg.value for arg in made.args if isinstance(arg, Constant) and isinstance(arg.value, str)
            )


def _written(node: ast.AST) -> Iterator[str]:
    """The names in the arguments of a call."""
    given = (*node.args, *(k.value for k in node.keywords)) if isinstance(node, ast.Call) else (node,)
    for arg in given:
        for inner in all_nodes(arg):
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr


def _behind(value: Value) -> Iterator[Value]:
    if isinstance(value, Instance):
        yield from value.made_with.values()
    else:
        yield from inputs(value)
