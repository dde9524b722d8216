"""Losses that ask nothing of what is surely wrong, tried on numbers.

A loss of a classifier is computed for scores that are right, undecided, wrong, and more and more surely wrong.
Where a sure error costs less than an undecided answer, as with a focal weight that is turned round, what is
wrong stays wrong: the loss is least at both ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.program.index import Index
from stethoscope.program.objective.addends import addends_of
from stethoscope.program.objective.orientation import Reader
from stethoscope.program.objective.probe import score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Delayed, Site, Value

Array = npt.NDArray[np.float64]
DEPTH = 24
MOST_TERMS = 12
RIGHT, UNDECIDED, WRONG = 4.0, 0.0, (-6.0, -9.0, -12.0)
CHEAP = 0.5  # of what an undecided answer costs
BINARY_SHAPES = ((8,), (8, 1), (2, 1, 4, 4), (2, 4, 4))
CLASSES = 4


@dataclass(frozen=True, slots=True, eq=False)
class CheapError:
    """A loss for which a sure error is cheaper than an undecided answer."""

    site: Site
    undecided: float
    wrong: float


@remembered
def cheap_errors(index: Index, settings: SettingsTree) -> tuple[CheapError, ...]:
    """Try every term of what is minimised that holds a prediction to labels."""
    found: dict[int, CheapError] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for cheap in _in(one):
                    found.setdefault(id(cheap.site.node), cheap)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _in(one: Minimised) -> Iterator[CheapError]:
    reader = Reader(one.run)
    for addend in list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]:
        value = addend.value
        operands = reader.operands(value) if isinstance(value, Applied | Delayed) else None
        if operands is None or not isinstance(value, Applied | Delayed):
            continue
        if comes_from_model(one.run, operands[1]) or not comes_from_model(one.run, operands[0]):
            continue
        costs = _costs(one.run.index, value, operands)
        if costs is not None and _is_cheap(costs):
            yield CheapError(value.site, costs[1], costs[-1])


def _costs(index: Index, value: Value, operands: tuple[Value, Value]) -> list[float] | None:
    """What right, undecided and ever more wrong scores cost; None where it cannot be computed."""
    for labels, is_binary in _labels():
        given = [
            score(index, value, operands, (_scores(labels, margin, is_binary), labels))
            for margin in (RIGHT, UNDECIDED, *WRONG)
        ]
        known = [one for one in given if one is not None and np.isfinite(one)]
        if len(known) == len(given):
            return known
    return None


def _labels() -> Iterator[tuple[Array, bool]]:
    rng = np.random.default_rng(0)
    for shape in BINARY_SHAPES:
        yield rng.permuted(np.resize([0.0, 1.0], int(np.prod(shape)))).reshape(shape), True
    yield np.resize(np.arange(CLASSES), 16).astype(np.float64), False
    yield np.resize(np.arange(CLASSES), (2, 8, 8)).astype(np.float64), False


def _scores(labels: Array, margin: float, is_binary: bool) -> Array:
    if is_binary:
        return np.asarray(margin * (2 * labels - 1))
    return np.asarray(np.moveaxis(np.eye(CLASSES)[labels.astype(np.int64)], -1, 1) * margin)


def _is_cheap(costs: list[float]) -> bool:
    right, undecided, *wrong = costs
    falls = all(later < earlier for earlier, later in zip(wrong, wrong[1:], strict=False))
    return 0 <= right < undecided and max(wrong) < CHEAP * undecided and falls
