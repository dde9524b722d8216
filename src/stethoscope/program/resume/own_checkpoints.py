"""Checkpoints that a training writes and reads again: to go on from one is a resume, however named."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Choice, Constant, Instance, Leaf, Part, Value

DEPTH = 6
SAVING = frozenset({"save", "save_file", "safe_save", "save_checkpoint"})


def is_written_by_training(walk: Walk, path: Value) -> bool:
    """Whether a loop that trains saves something under this path."""
    return any(_is_same(path, written, DEPTH) for written in _written(walk))


def is_same_path(one: Value, other: Value) -> bool:
    """Whether two paths are put together alike from the same things."""
    return _is_same(one, other, DEPTH)


def paths_given(event: Call) -> tuple[Value, ...]:
    """What may be the path of a call that saves; nothing for other calls."""
    if event.name not in SAVING or len(event.args) + len(event.keywords) < 2:
        return ()
    return (*event.args[:2], *event.keywords.values())


def _written(walk: Walk) -> Iterator[Value]:
    for event in walk.trace.events:
        if not isinstance(event, Call):
            continue
        if any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes()):
            yield from paths_given(event)


def _is_same(one: Value, other: Value, depth: int) -> bool:
    if one is other:
        return not isinstance(one, Instance)
    if depth == 0:
        return False
    match one, other:
        case Constant(value=str() as left), Constant(value=right):
            return left == right
        case Leaf(name=left), Leaf(name=right):
            return left == right
        case Part(base=base, key=key), Part(base=other_base, key=other_key):
            return key == other_key and _is_same(base, other_base, depth - 1)
        case Applied(), Applied():
            return (
                one.callee == other.callee
                and bool(one.args)
                and len(one.args) == len(other.args)
                and all(_is_same(a, b, depth - 1) for a, b in zip(one.args, other.args, strict=True))
            )
        case Choice(options=options), _:
            return any(_is_same(option, other, depth - 1) for option in options)
        case _, Choice(options=options):
            return any(_is_same(one, option, depth - 1) for option in options)
    return False
