"""Losses that ask nothing of what is surely wrong, tried on numbers.

A loss of a classifier is computed for scores that are right, undecided, wrong, and ever more surely wrong.
Where a sure error costs less than an undecided answer, as with a focal weight that is turned round, what is
wrong stays wrong: the loss is least at both ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import peeled
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
from stethoscope.program.walk.networks import OUTSIDE_NETWORKS
from stethoscope.program.walk.values import Applied, Delayed, Site, Value

Array = npt.NDArray[np.float64]
DEPTH = 24
MOST_TERMS = 12
RIGHT, UNDECIDED, WRONG = 4.0, 0.0, (-6.0, -9.0, -12.0)
CHEAP = 0.5  # of what an undecided answer costs
BINARY_SHAPES = ((8,), (8, 1), (2, 1, 4, 4), (2, 4, 4))
CLASSES = 4
DRAWS = 3
RAISED = 0.1  # relative, by which a term has to be larger where classes are told apart


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
    for value, operands in _classified(one):
        costs = _costs(one.run.index, value, operands)
        if costs is not None and _is_cheap(costs):
            yield CheapError(value.site, costs[1], costs[-1])


def _classified(one: Minimised) -> Iterator[tuple[Applied | Delayed, tuple[Value, Value]]]:
    """The terms that hold what a network gave to something that it did not."""
    reader = Reader(one.run)
    for addend in list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]:
        value = addend.value
        operands = reader.operands(value) if isinstance(value, Applied | Delayed) else None
        if operands is None or not isinstance(value, Applied | Delayed):
            continue
        if _is_learned(one, operands[0]) and not _is_learned(one, operands[1]):
            yield value, operands


def _is_learned(one: Minimised, value: Value) -> bool:
    """Whether a network gave a value, one of a library among them."""
    bare = peeled(value)
    is_of_library = isinstance(bare, Applied) and OUTSIDE_NETWORKS.match(bare.callee) is not None
    return is_of_library or comes_from_model(one.run, value)


@remembered
def raised_for_labels(
    index: Index, settings: SettingsTree
) -> tuple[tuple[Minimised, Applied | Delayed], ...]:
    """The terms that are least where outputs tell nothing of the labels, and largest where they tell all."""
    found: dict[int, tuple[Minimised, Applied | Delayed]] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for value, operands in _classified(one):
                    if _is_raised(index, value, operands):
                        found.setdefault(id(value.site.node), (one, value))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _is_raised(index: Index, value: Value, operands: tuple[Value, Value]) -> bool:
    """Whether a term is larger where samples of a class lie together than where the classes are mixed."""
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(CLASSES), 4).astype(np.float64)
        centres = rng.normal(size=(CLASSES, 8))
        outputs = 3 * centres[labels.astype(np.int64)] + 0.3 * rng.normal(size=(len(labels), 8))
        told, *mixed = (
            score(index, value, operands, (outputs, given))
            for given in (labels, rng.permutation(labels), rng.permutation(labels))
        )
        known = [one for one in mixed if one is not None and np.isfinite(one)]
        if told is None or not np.isfinite(told) or len(known) < len(mixed):
            return False
        renamed = score(index, value, operands, (outputs, CLASSES - 1 - labels))
        if renamed is None or not np.isclose(told, renamed):
            return False  # what it is told are numbers of a size, not names of classes
        if told - max(known) <= RAISED * max(abs(told), abs(max(known))):
            return False
    return True


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
    falls = all(later < earlier for earlier, later in pairwise(wrong))
    return 0 <= right < undecided and max(wrong) < CHEAP * undecided and falls
