"""Held-out inputs that are cut to a length which goes by the progress of training.

x = rows[:, : 4 + longest * step // steps]      in what an evaluation runs the network on

The step is whatever the training loop counts, under any name, handed over or read from the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.evaluation.evaluations import Walk, walks
from stethoscope.program.evaluation.followed_progress import Following
from stethoscope.program.index import Function, Index
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Items, Leaf, Value, is_nothing

RESIZING = frozenset({"interpolate", "resize", "narrow", "center_crop", "pad"})
TURNING = frozenset({"%", "divmod", "floor_divide"})  # a count that begins again chooses a batch


@remembered
def growing_inputs(index: Index, settings: SettingsTree) -> tuple[Following, ...]:
    """The cuts of what is measured that move with the count of a training loop."""
    found: dict[object, Following] = {}
    for walk in walks(index, settings):
        for cut, progress, forward, function in _cuts_of_evaluation(walk):
            following = Following(
                function.spoken if function is not None else "the evaluation",
                " ".join(cut.site.text.split())[:80],
                progress,
                cut.site.where,
                forward.site.where,
            )
            found.setdefault(following.where, following)
    return tuple(found.values())


def _cuts_of_evaluation(walk: Walk) -> list[tuple[Applied, str, Call, Function | None]]:
    """The moving cuts of what is measured; not those that training itself has."""
    moving = [
        (cut, progress, forward, function)
        for forward, function in _measured(walk)
        for cut, progress in _moving_cuts(walk, forward)
    ]
    if not moving:
        return []
    trained = {id(cut.site.node) for run in _trained(walk) for cut, _ in _moving_cuts(walk, run)}
    return [one for one in moving if id(one[0].site.node) not in trained]


def _trained(walk: Walk) -> Iterator[Call]:
    for event in walk.trace.events:
        if isinstance(event, Call) and id(event) in walk.trained:
            yield event


def _measured(walk: Walk) -> Iterator[tuple[Call, Function | None]]:
    """The runs of networks on what is held out, and those in a function that switches to evaluation."""
    known: set[int] = set()
    for evaluation in walk.evaluations:
        if isinstance(evaluation.forward.event, Call):
            known.add(id(evaluation.forward.event))
            yield evaluation.forward.event, evaluation.function
    asleep = {
        move.event.within[-1] for move in walk.moves if move.kind is Kind.EVAL_MODE and move.event.within
    }
    for move in walk.moves:
        event = move.event
        if move.kind is not Kind.FORWARD or not isinstance(event, Call) or not event.within:
            continue
        if id(event) not in known and event.within[-1] in asleep and without_gradients(event):
            yield event, event.within[-1]


def _moving_cuts(walk: Walk, forward: Call) -> Iterator[tuple[Applied, str]]:
    """The cuts among what a network is given, and the count of training that they go by."""
    run = walk.trace.run
    for given in (*forward.args, *forward.keywords.values()):
        for value in ancestry(run, given):
            if not isinstance(value, Applied):
                continue
            if value.callee == "[]" and len(value.args) == 2:
                index = quietly(run, value.args[1])
                for one in index.items if isinstance(index, Items) else [index]:
                    progress = _moving_end(walk, quietly(run, one))
                    if progress:
                        yield value, progress
            elif value.callee.rpartition(".")[2] in RESIZING:
                sizes = [*value.args[1:], *value.keywords.values()]
                progress = next(filter(None, (_progress(walk, one) for one in sizes)), "")
                if progress:
                    yield value, progress


def _moving_end(walk: Walk, index: Value) -> str:
    """The count by which one end of a slice goes, where the other stays: both together choose a batch."""
    if not isinstance(index, Applied) or index.callee != "slice":
        return ""
    ends = [_progress(walk, one) for one in index.args[:2] if not is_nothing(one)]
    return next(filter(None, ends), "") if sum(map(bool, ends)) == 1 else ""


def _progress(walk: Walk, value: Value) -> str:
    """The name of what a training loop counts, where a number is computed from it and goes on with it."""
    run = walk.trace.run
    found = ""
    for one in ancestry(run, value):
        if isinstance(one, Applied) and one.callee.rpartition(".")[2] in TURNING:
            return ""
        _, loop = run.counted_by.get(id(one), (None, None))
        if isinstance(one, Leaf) and id(loop) in walk.training_nodes:
            found = _written(loop) or one.name
    return found


def _written(loop: ast.AST | None) -> str:
    """What a loop over numbers calls them."""
    target = loop.target if isinstance(loop, ast.For) else None
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    return first.id if isinstance(first, ast.Name) else ""
