"""Outputs with which a network can excuse every error: a spread that costs nothing, tried on numbers.

A network that tells how sure it is weighs its own errors. In a likelihood a wide spread is paid for by the
logarithm of that spread. A whole loss is computed for an error of a few sizes and for a second output that
moves from one end to the other: where it falls all the way, whatever the error, and the error counts for
ever less, the second output goes as far as it can and nothing is learned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.index import Index
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.networks import OUTSIDE_NETWORKS
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value

Array = npt.NDArray[np.float64]
Arrange = Callable[[Array, Array], tuple[Array, ...]]
# The same shape for all sides, or twice as many outputs as targets.
SHAPES = ((6,), (6, 1), (6, 3), (2, 3, 4, 4))
ERRORS = (0.3, 1.0, 3.0)
ENDS = (-6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 6.0)
SHIFT = 0.37  # of predictions and targets together, which no difference tells of
EXCUSED = 0.2  # of what an error counts in the middle, at the end that the loss falls towards


@dataclass(frozen=True, slots=True, eq=False)
class ExcusedError:
    """A loss that falls as one output goes to an end, whatever the errors are; what errors count there."""

    site: Site
    sink: Site
    usual: float
    excused: float


@remembered
def excused_errors(index: Index, settings: SettingsTree) -> tuple[ExcusedError, ...]:
    """Try every whole loss of a program in which one function trains."""
    found = minimised(index, settings)
    if len({id(one.sink.within[-1]) if one.sink.within else 0 for one in found}) != 1:
        return ()  # who trains the weights may have another aim
    excused: dict[int, ExcusedError] = {}
    for one in found:
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for error in _in(one):
                    excused.setdefault(id(error.sink.node), error)
        except (Exhausted, RecursionError):
            continue
    return tuple(excused.values())


def _in(one: Minimised) -> Iterator[ExcusedError]:
    loss = one.sink.value
    operands = [each for each in operands_of(one.run.index, loss) if not isinstance(each, Constant)]
    learned = [each for each in operands if _is_learned(one, each)]
    told = [each for each in operands if each not in learned]
    if len(told) != 1 or len(learned) not in {1, 2}:
        return
    costs = next(_settled(one, loss, learned, told[0]), None)
    if costs is not None:
        site = loss.site if isinstance(loss, Applied | Delayed) else one.sink.site
        yield ExcusedError(site, one.sink.site, *costs)


def _is_learned(one: Minimised, value: Value) -> bool:
    """Whether a network gave a value, and learns from it."""
    bare = peeled(value)
    is_of_library = isinstance(bare, Applied) and OUTSIDE_NETWORKS.match(bare.callee) is not None
    return is_of_library or comes_from_model(one.run, value, detached_counts=False)


def _settled(
    one: Minimised, loss: Value, learned: Sequence[Value], told: Value
) -> Iterator[tuple[float, float]]:
    """What an error counts, usually and at the end that the loss falls towards; for each way to try it."""
    for shape in SHAPES:
        for arrange in _arrangements(len(learned)):
            found = _excuse(partial(_cost, one.run.index, loss, (*learned, told), arrange, shape))
            if found is not None:
                yield found


def _cost(
    index: Index,
    loss: Value,
    operands: tuple[Value, ...],
    arrange: Arrange,
    shape: tuple[int, ...],
    error: float,
    end: float,
    shift: float = 0.0,
) -> float | None:
    """The loss of predictions that are so far off, with a second output that stands at this end."""
    truth, noise = np.random.default_rng(0).normal(size=(2, *shape))
    truth = truth + shift
    return score(index, loss, operands, (*arrange(truth + error * noise, np.full(shape, end)), truth))


def _arrangements(count: int) -> Iterator[Arrange]:
    """The prediction and the second output: each its own value, or both in one."""
    for first, second in permutations((0, 1)):
        if count > 1:
            yield lambda *outputs, first=first, second=second: (outputs[first], outputs[second])
        else:
            for axis in (1, -1):
                yield lambda *outputs, first=first, second=second, axis=axis: (
                    np.concatenate([_wide(outputs[first]), _wide(outputs[second])], axis),
                )


def _wide(output: Array) -> Array:
    return output[:, None] if output.ndim == 1 else output


def _excuse(cost: Callable[..., float | None]) -> tuple[float, float] | None:
    """What the largest error counts usually, and where the loss falls to whatever the errors are."""
    here, moved = cost(1.0, 0.0), cost(1.0, 0.0, SHIFT)
    if here is None or moved is None or not np.isclose(here, moved):
        return None  # not a matter of differences: classes, probabilities
    rows: list[list[float]] = []
    for error in ERRORS:
        row = [cost(error, end) for end in ENDS]
        known = [one for one in row if one is not None and np.isfinite(one)]
        if len(known) < len(ENDS):
            return None
        rows.append(known)
    for turned in (rows, [row[::-1] for row in rows]):
        middle = [row[len(ENDS) // 2] for row in turned]
        is_regression = all(later > earlier for earlier, later in pairwise(middle))
        falls = all(later < earlier for row in turned for earlier, later in pairwise(row))
        usual, excused = middle[-1] - middle[0], turned[-1][-1] - turned[0][-1]
        if is_regression and falls and abs(excused) < EXCUSED * usual:
            return usual, excused
    return None
