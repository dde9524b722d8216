"""Lengths of schedules that count the samples of a dataset, where a step takes a whole batch of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, Variable, dotted
from stethoscope.program.loop.configured_schedules import configured_schedules
from stethoscope.program.loop.hand_made_rates import all_schedules
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.schedule_steps import schedule_steps
from stethoscope.program.loop.schedules import Length, Schedule
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Site, Value
from stethoscope.run import Source

DEPTH = 6


@dataclass(frozen=True, slots=True, eq=False)
class CountedSamples:
    """A schedule, the length of it that counts samples, the count, and the loader that makes batches."""

    schedule: Schedule
    length: Length
    count: Site
    loader: Site


def counted_samples(loop: TrainingLoop) -> Iterator[CountedSamples]:
    """The schedules that are moved with every batch and laid out in samples."""
    moved = [
        (loop.run, schedule)
        for step in schedule_steps(loop)
        if step.round is loop.body
        for schedule in all_schedules(loop.run, step.move.subject)
    ]
    moved += [(one.run, one.schedule) for one in configured_schedules(loop) if one.interval == "step"]
    for run, schedule in moved:
        for length in schedule.lengths:
            for count in _counts(run, length.value, DEPTH):
                loader = _batched_by(run.index, count)
                if loader is not None:
                    yield CountedSamples(schedule, length, count, loader)


def _counts(run: Execution, value: Value, depth: int) -> Iterator[Site]:
    """`len(dataset)` in a product; what is divided may well be divided by the samples of a batch."""
    value = run.force(value)
    match value:
        case Applied(callee="len", args=[counted, *_]) if role_of(run, counted) is not Role.LOADER:
            yield value.site
        case Applied(callee="*" | "int" | "round", args=args) if depth:
            for arg in args:
                yield from _counts(run, arg, depth - 1)


def _batched_by(index: Index, count: Site) -> Site | None:
    """The loader that takes batches out of what is counted, by the name that both use for it."""
    named = _name_counted(count)
    sources = [one.source for one in index.modules.values() if "DataLoader" in one.source.text]
    for source in sources if named else ():
        for call in () if is_test(source) else all_nodes(source.tree, ast.Call):
            takes = bare_name(call) == "DataLoader" and call.args and _takes_batches(index, source, call)
            if takes and _named(call.args[0]) == named:
                return Site(source, call)
    return None


def _name_counted(count: Site) -> str:
    match count.node:
        case ast.Call(args=[counted]):
            return _named(counted)
    return ""


def _named(node: ast.expr) -> str:
    """`train_set` of `self.train_set`; `raw['train']` as it is."""
    return ast.unparse(node) if isinstance(node, ast.Subscript) else (dotted(node) or "").rpartition(".")[2]


def _takes_batches(index: Index, source: Source, call: ast.Call) -> bool:
    """Whether a loader is told a batch that may be more than one sample."""
    given = {word.arg: word.value for word in call.keywords}.get("batch_size")
    size = given or (call.args[1] if len(call.args) > 1 else None)
    named = index.resolve(index.module_of(source), size.id) if isinstance(size, ast.Name) else None
    size = named.value if isinstance(named, Variable) else size
    return size is not None and not (isinstance(size, ast.Constant) and size.value in {None, 1})
