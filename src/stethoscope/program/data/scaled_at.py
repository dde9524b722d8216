"""What samples are divided by at one place of the code, in training and in evaluation.

Both go through the same statement, `(x - self.mean) / self.std` or `wave / loudness`, and only the values
that reach it can set them apart: statistics of the training data here and a default of one there, statistics
that were computed once more over other data, or those of each sample by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.data.standardisation import STATISTICS, peeled_moves
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    Instance,
    Items,
    Leaf,
    Part,
    Value,
    inputs,
)

SPREADS = STATISTICS | {"norm", "quantile", "percentile", "ptp", "square", "rms"}
MOST_LOOKED = 800
JOINING = frozenset({"stack", "cat", "concat", "concatenate", "vstack", "hstack", "array", "asarray"})


class By(StrEnum):
    """What a sample is divided by."""

    NUMBER = "a number"
    SAMPLE = "its own statistics"
    DATA = "statistics of data"
    OTHER = "something else"


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """One division on the way of a sample, what it is by, and the statistics in that."""

    value: Applied
    by: By
    statistics: tuple[Applied, ...] = ()


def divisions(run: Execution, batch: Value) -> dict[int, list[Division]]:
    """The divisions on the way of what a batch holds, by the place in the code that they are made at."""
    found: dict[int, list[Division]] = {}
    for one in _nearest_first(run, batch):
        if isinstance(one, Applied) and one.callee == "/" and len(one.args) == 2:
            found.setdefault(id(one.site.node), []).append(_division(run, one))
    return found


def _nearest_first(
    run: Execution, value: Value, ends: Callable[[Value], bool] = lambda _: False
) -> Iterator[Value]:
    """A value and what it was made of, the last steps first: behind them may lie a long list of samples.

    `ends` says behind which values not to look.
    """
    waiting, seen = deque([value]), set[int]()
    while waiting and len(seen) < MOST_LOOKED:
        current = waiting.popleft()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if not is_network_pass(run.index, current) and not ends(current):
            waiting.extend([run.expand(current)] if isinstance(current, Delayed) else inputs(current))


def _division(run: Execution, value: Applied) -> Division:
    above, below = value.args
    number = peeled_moves(peeled(below))
    if isinstance(number, Constant):
        return Division(value, By.NUMBER)
    statistics = tuple(
        one
        for one in _nearest_first(run, below, _is_statistic)
        if isinstance(one, Applied) and _is_statistic(one)
    )
    data = peeled(above)
    if isinstance(data, Applied) and data.callee == "-" and data.args:
        data = data.args[0]
    if not statistics or _is_statistic(_without_roots(data)):
        return Division(value, By.OTHER)  # one statistic by another scales no sample
    sample = set(map(id, _nearest_first(run, data, _is_of_many)))
    args = [arg for statistic in statistics for arg in statistic.args[:1]]
    looked = [one for arg in args for one in _nearest_first(run, arg, _is_of_many)]
    is_of_sample = any(_is_of_item(one) or (isinstance(one, Applied) and id(one) in sample) for one in looked)
    return Division(value, By.SAMPLE if is_of_sample else By.DATA, statistics)


def _is_statistic(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in SPREADS


def _without_roots(value: Value) -> Value:
    while isinstance(value, Applied) and value.args and value.callee.rpartition(".")[2] in {"sqrt", "item"}:
        value = value.args[0]
    return value


def _is_of_many(value: Value) -> bool:
    """Where many samples are joined, or one is picked out of all: what lies behind is many."""
    match value:
        case Items():
            return True
        case Applied(callee="[]", args=[_, Leaf()]):
            return True
        case Applied(callee=callee):
            return callee.rpartition(".")[2] in JOINING
    return False


def _is_of_item(value: Value) -> bool:
    """`self.rows[i]` of the item that is asked for."""
    match value:
        case Applied(callee="[]", args=[_, Leaf(name="index")]):
            return True
    return False


def divided_apart(run: Execution, trained: Value, judged: Value) -> Iterator[tuple[Division, Division]]:
    """The places at which samples of training and of evaluation are divided by what does not agree."""
    ours, theirs = divisions(run, trained), divisions(run, judged)
    for place in ours.keys() & theirs.keys():
        pairs = [(one, other) for one in ours[place] for other in theirs[place]]
        if pairs and all(_disagree(run, one, other) for one, other in pairs):
            yield pairs[0]


def _disagree(run: Execution, one: Division, other: Division) -> bool:
    kinds = {one.by, other.by}
    if one.value is other.value or one.value.args[1] is other.value.args[1] or By.OTHER in kinds:
        return False
    if kinds == {By.DATA}:
        return _are_computed_twice(run, one, other)
    return By.DATA in kinds and len(kinds) > 1 and not _share_statistic(run, one, other)


def _are_computed_twice(run: Execution, one: Division, other: Division) -> bool:
    """Whether one piece of code computed both statistics, and over other data each time."""
    places = {id(ours.site.node) for ours in one.statistics}
    is_same_code = any(id(theirs.site.node) in places for theirs in other.statistics)
    return is_same_code and not _share_statistic(run, one, other)


def _share_statistic(run: Execution, one: Division, other: Division) -> bool:
    """Whether both are divided by one statistic: `scaled(y, like=y)` and `scaled(held_out, like=y)`."""
    for ours in one.statistics:
        for theirs in other.statistics:
            is_same_code = ours.site.node is theirs.site.node and ours.args and theirs.args
            if ours is theirs or (is_same_code and are_of_same_data(run, ours, theirs)):
                return True
    return False


def are_of_same_data(run: Execution, one: Applied, other: Applied) -> bool:
    """Whether two statistics go back to the same names, numbers and keys: one thing, computed twice."""
    return _origins(run, one) == _origins(run, other)


def _origins(run: Execution, value: Value) -> list[object]:
    found: list[object] = []
    for one in ingredients(run, value):
        match one:
            case Constant(value=known):
                found.append(repr(known))
            case Leaf(name=name):
                found.append(name)
            case Part(key=key):
                found.append(key)
            case Instance():
                found.append(id(one))
            case Items(items=items):
                found.append(len(items))
            case Applied(callee=callee, args=args):
                written = (repr(arg.value) if isinstance(arg, Constant) else "" for arg in args)
                found.append((callee, *written))
    return found
