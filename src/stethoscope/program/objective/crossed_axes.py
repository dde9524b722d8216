"""Rows that meet columns in what is minimised: (n,) against (n, 1) is (n, n), and all are held against all.

The axes are read from how both sides are made: the last layer of the network, what picks the values of the
chosen actions, the target as the data set gives it. Arithmetic that keeps the axes is looked through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.hook_batches import batch_given
from stethoscope.program.data.ingredients import ingredients, part_path, peeled
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.broadcast_sides import LOSSES, MADE, PAIRWISE
from stethoscope.program.objective.value_axes import JOINING, SAME, Axes, axes_of
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.framework_instances import loss_in, made_for_hooks
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_network_pass
from stethoscope.program.walk.values import Applied, Delayed, Items, Part, Site, Value, is_nothing

DEPTH = 12
SIZING = frozenset({"square", "abs", "pow", "**", "huber"})
WEIGHING = frozenset({"*", "mul", ".mul", "torch.mul"})
MEASURING = LOSSES | {f"{name}()" for name in MADE}


@dataclass(frozen=True, slots=True, eq=False)
class CrossedAxes:
    """A comparison of something that is a row with something that is a column."""

    site: Site
    row: str
    column: str


@remembered
def crossed_axes(index: Index, settings: SettingsTree) -> tuple[CrossedAxes, ...]:
    """Look through everything that is minimised."""
    found: dict[object, CrossedAxes] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for crossed in _crossed(_with_batch(one, settings)):
                found.setdefault(id(crossed.site.node), crossed)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _with_batch(one: Minimised, settings: SettingsTree) -> Minimised:
    """The same with the batches of its loader, where Lightning hands them to its step."""
    step = one.sink.within[0] if one.sink.within else None
    if step is None or step.name != "training_step" or step.owner is None:
        return one
    run = Execution(one.run.index, settings, STEPS // 2)
    module = made_for_hooks(run, step.owner)
    value = loss_in(run, run.enter(step, module, batch_given(run, module, step)))
    return one if value is None else Minimised(run, replace(one.sink, value=value))


def _crossed(one: Minimised) -> Iterator[CrossedAxes]:
    for value in ingredients(one.run, one.sink.value):
        if not isinstance(value, Applied):
            continue
        for sides in _compared(value):
            found = _meeting(one.run, sides)
            if found is not None and not _is_pairwise(value, one):
                yield CrossedAxes(value.site, *found)
        product = _crossed_product(one.run, value) if value.callee in WEIGHING else None
        if product is not None and not _is_pairwise(value, one):
            yield CrossedAxes(value.site, *product)


def _compared(value: Applied) -> Iterator[tuple[Value, ...]]:
    """What a loss, or a difference that is squared or made positive, holds against each other."""
    name = value.callee.rpartition(".")[2]
    if name in MEASURING and len(value.args) >= 2:
        yield value.args[:2]
    elif name in SIZING and value.args:
        inner = value.args[0]
        if isinstance(inner, Applied) and inner.callee.rpartition(".")[2] in {"-", "sub"}:
            yield inner.args[:2]


def _meeting(run: Execution, sides: tuple[Value, ...]) -> tuple[str, str] | None:
    """What is a row and what is a column among all that is added up on the two sides."""
    if not any(comes_from_model(run, side) for side in sides):
        return None
    parts = [(part, axes_of(run, part)) for side in sides for part in _parts(run, side, DEPTH)]
    columns = [(part, axes) for part, axes in parts if axes and _is_column(axes) and not _is_widened(part)]
    for row, axes in parts:
        for column, crossed in columns:
            if axes is not None and _are_of_one_batch(axes, crossed):
                return _written(row), _written(column)
    return None


def _are_of_one_batch(row: Axes, column: Axes) -> bool:
    """Whether a row has as many numbers as a column: levels or weights of places have others."""
    return len(row) == 1 and row[0] != 1 and row[0] in {None, column[0]}


def _crossed_product(run: Execution, value: Applied) -> tuple[str, str] | None:
    """What is a row of a batch and what a network's column, where the two are multiplied."""
    sides = value.args[:2]
    for row, column in (sides, sides[::-1]):
        axes = axes_of(run, column)
        if axes is None or not _is_column(axes) or not is_network_pass(run.index, peeled(column)):
            continue
        rows = axes_of(run, row)
        is_row = rows is not None and _are_of_one_batch(rows, axes)
        if is_row and is_of_batch(row) and not comes_from_model(run, row):
            return _written(row), _written(column)
    return None


def is_of_batch(value: Value) -> bool:
    """Whether a value is what a loader gives, moved or turned into other numbers at the most."""
    value = peeled(value)
    return isinstance(value, Part) and is_loader(part_path(value)[0])


def _is_column(axes: Axes) -> bool:
    return len(axes) == 2 and axes[1] == 1 and axes[0] != 1


def _parts(run: Execution, value: Value, depth: int) -> Iterator[Value]:
    """What a value is made of by arithmetic that keeps the axes."""
    if isinstance(value, Delayed) and not is_network_pass(run.index, value):
        value = run.expand(value)
    name = value.callee.rpartition(".")[2] if isinstance(value, Applied) else ""
    inner: tuple[Value, ...] = ()
    if isinstance(value, Applied) and name in JOINING:
        inner = value.args
    elif isinstance(value, Applied) and (name in SAME or value.callee == "neg"):
        inner = value.args[:1]
    if not inner or depth == 0:
        yield value
    for one in inner:
        yield from _parts(run, one, depth - 1)


def _is_widened(value: Value) -> bool:
    """`x[:, None]`: a column by hand in a difference is how people write that all pairs are meant."""
    match value:
        case Applied(callee="[]", args=[_, Items(items=items)]):
            return any(map(is_nothing, items))
    return False


def _written(value: Value) -> str:
    text = " ".join(value.site.text.split()) if isinstance(value, Applied | Delayed) else ""
    return text[:60] or "the target"


def _is_pairwise(value: Applied, one: Minimised) -> bool:
    said = [value.site.text, *(function.spoken for function in one.sink.within)]
    return any(PAIRWISE & set(words("".join(c if c.isalnum() else "_" for c in text))) for text in said)
