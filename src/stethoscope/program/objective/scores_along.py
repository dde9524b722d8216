"""Along which axis the scores of a classifier are made probabilities, tried on numbers.

A softmax over the classes does not change when all classes of a sample gain the same. One that is taken
over samples, places or rows does not change when all of those gain the same for a class: then what is
learned of one place depends on the others, and no class ever competes with another.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.experiments.trials import trials
from stethoscope.program.index import Index
from stethoscope.program.objective.aligned_scores import SHAPE, SIGNS, aligned_scores
from stethoscope.program.objective.own_losses import own_loss
from stethoscope.program.objective.probe import score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value

Array = npt.NDArray[np.float64]
SOFT = frozenset({"log_softmax", "softmax", "LogSoftmax", "Softmax"})
PICKING = frozenset({"nll_loss", "NLLLoss", "gather", "take_along_dim", "[]"})
MOST_TRIED = 6
# What gives another shape or type to the same numbers.
SHAPING = frozenset({
    "reshape", "view", "flatten", "transpose", "permute", "contiguous", "float", "double", "long", "to",
    "ravel", "unsqueeze", "squeeze", "clamp", "movedim", "swapaxes", "int",
})  # fmt: skip
DEPTH = 8
SAME = 1e-6
# Shapes of scores, with the axis of the classes and the other axes; no two lengths are the same.
LAYOUTS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((11, 4), 1),
    ((3, 7, 5), 2),
    ((3, 5, 7), 1),
    ((3, 4, 6, 7), 1),
    ((3, 6, 7, 4), 3),
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoresAlong:
    """A softmax over something else than the classes that a label picks from."""

    soft: Site
    picked: Site
    shape: tuple[int, ...]
    classes: int  # the axis that the labels number
    along: int  # the axis that sums to one


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """A term that picks by labels from what a softmax made of scores."""

    value: Applied
    soft: Applied
    scores: Value
    labels: Value
    along: int | None = None  # the axis that is picked along, where that is said of these very axes


@remembered
def scores_along(index: Index, settings: SettingsTree) -> tuple[ScoresAlong, ...]:
    """Try every likelihood of labels that is minimised."""
    found: dict[int, ScoresAlong] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for likelihood in _likelihoods(one):
                    along = _tried(index, settings, likelihood)
                    if along is not None:
                        found.setdefault(id(likelihood.soft.site.node), along)
                for aligned in aligned_scores(index, one):
                    along = ScoresAlong(aligned.soft, aligned.aligned, SHAPE, SIGNS, aligned.along)
                    found.setdefault(id(aligned.soft.node), along)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _likelihoods(one: Minimised) -> Iterator[_Likelihood]:
    tried = 0
    for value in _made_from(one):
        if tried >= MOST_TRIED:
            return
        if not isinstance(value, Applied) or _last(value) not in PICKING or len(value.args) < 2:
            continue
        soft = _soft_before(one, value.args[0])
        named = value.args[-1] if _last(value) == "gather" else value.args[1]
        picking = value.keywords.get("index", named)
        if soft is None or not soft.args:
            continue
        tried += 1
        scores, labels = _bare(soft.args[0], SHAPING), _bare(picking, SHAPING)
        along = _picked_along(value) if one.run.force(value.args[0]) is soft else None
        yield _Likelihood(value, soft, scores, labels, along)
        scores, labels = (_bare(given, SHAPING | {"[]"}) for given in (scores, labels))
        yield _Likelihood(value, soft, scores, labels, along)


def _picked_along(value: Applied) -> int | None:
    """The axis of `gather(axis, labels)`."""
    if _last(value) != "gather":
        return None
    match value.keywords.get("dim", value.args[1]):
        case Constant(value=int() as axis):
            return axis
    return None


def _made_from(one: Minimised) -> Iterator[Value]:
    for value in ingredients(one.run, one.sink.value):
        yield value
        loss = own_loss(one.run, value)
        if loss is not None:
            yield from ingredients(one.run, loss)


def _soft_before(one: Minimised, value: Value) -> Applied | None:
    """The softmax whose result, looked at in another shape, is picked from."""
    for _ in range(DEPTH):
        value = _bare(one.run.force(value), SHAPING | {"log", "+"})
        if not isinstance(value, Applied | Delayed):
            return None
        if isinstance(value, Applied):
            return value if _last(value) in SOFT else None
    return None


def _bare(value: Value, through: frozenset[str]) -> Value:
    """A value before it was given another shape or type."""
    for _ in range(DEPTH):
        if not isinstance(value, Applied) or _last(value) not in through or not value.args:
            return value
        value = value.args[0]
    return value


def _tried(index: Index, settings: SettingsTree, likelihood: _Likelihood) -> ScoresAlong | None:
    """What leaves the term as it is: a common gain of all classes of a sample, or of something else."""
    axes = {len(trial.sizes[0]) for trial in trials(index, settings)}
    known = axes if len(axes) == 1 else {len(shape) for shape, _ in LAYOUTS}
    answers = [
        (shape, classes, along)
        for shape, classes in LAYOUTS
        if len(shape) in known
        and (likelihood.along is None or likelihood.along % len(shape) == classes)
        and (along := _axis(index, likelihood, shape, classes)) is not None
    ]
    if not answers or any(classes == along for _, classes, along in answers):
        return None  # it cannot be computed, or can be read so that it is right
    shape, classes, along = answers[0]
    return ScoresAlong(likelihood.soft.site, likelihood.value.site, shape, classes, along)


def _axis(index: Index, likelihood: _Likelihood, shape: Sequence[int], classes: int) -> int | None:
    """The axis along which a common gain changes nothing; None where that cannot be told."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=tuple(shape))
    labels = rng.integers(0, shape[classes], tuple(n for i, n in enumerate(shape) if i != classes))
    operands = (likelihood.scores, likelihood.labels)

    def cost(given: Array, told: Array) -> float | None:
        number = score(index, likelihood.value, operands, (given, told))
        return number if number is not None and np.isfinite(number) else None

    # They may be known in a row only, or with an axis for what they pick.
    told = labels.astype(np.float64)
    forms = (told, told.reshape(-1), np.expand_dims(told, classes))
    tried = ((one, cost(scores, one)) for one in forms)
    told, base = next(((one, number) for one, number in tried if number is not None), (told, None))
    if base is None:
        return None
    same: list[int] = []
    for axis in range(len(shape)):
        gain = rng.normal(size=tuple(1 if i == axis else n for i, n in enumerate(shape)))
        other = cost(scores + 3.0 * gain, told)
        if other is not None and abs(other - base) <= SAME * max(1.0, abs(base)):
            same.append(axis)
    return same[0] if len(same) == 1 else None


def _last(value: Applied) -> str:
    return value.callee.removesuffix("()").rpartition(".")[2]
