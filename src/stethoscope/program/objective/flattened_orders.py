"""Scores of places and the labels of these places, laid out in one row each: in the same order?

The places of a batch are numbered. What the training does to the tokens before the network, what the network
does to their axes, and what is done to scores and labels before the cross entropy is computed on these
numbers: each score must meet the label of its own place.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.batches import drawn, is_loader
from stethoscope.program.data.ingredients import ingredients, part_path, peeled
from stethoscope.program.experiments.things import Array
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import Index
from stethoscope.program.objective.own_input import ENTROPIES
from stethoscope.program.objective.probe import computed, operands_of
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Constant, Delayed, Instance, Part, Site, Value

SAMPLES, PLACES = 3, 5
NUMBERS: Array = np.arange(SAMPLES * PLACES, dtype=np.float64).reshape(SAMPLES, PLACES)


@dataclass(frozen=True, slots=True, eq=False)
class OrderedApart:
    """A cross entropy whose scores and labels stand in two orders."""

    site: Site
    scores: str
    labels: str


@remembered
def ordered_apart(index: Index, settings: SettingsTree) -> tuple[OrderedApart, ...]:
    """Try every cross entropy over places that is minimised."""
    tried: dict[object, Trial] = {
        trial.cls: trial for trial in trials(index, settings) if _keeps_places(trial)
    }
    found: dict[int, OrderedApart] = {}
    for one in minimised(index, settings) if tried else ():
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for value in ingredients(one.run, one.sink.value):
                if isinstance(value, Applied) and _meet_apart(index, one.run, value, tried):
                    texts = (_written(value.args[0]), _written(value.args[1]))
                    found.setdefault(id(value.site.node), OrderedApart(value.site, *texts))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _keeps_places(trial: Trial) -> bool:
    """Whether a network of tokens gives scores for each place of each sample."""
    if trial.fitting.kinds[0] != "tokens" or not trial.sizes or len(trial.sizes[0]) != 3:
        return False
    return trial.sizes[0][:2] in _both_ways(trial.fitting.arrays[0].shape)


def _both_ways(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return shape, shape[::-1]


def _is_entropy(value: Applied) -> bool:
    if len(value.args) < 2:
        return False
    return value.callee.removesuffix("()").rpartition(".")[2] in ENTROPIES


def _written(value: Value) -> str:
    return " ".join(value.site.text.split())[:60] if isinstance(value, Applied | Delayed) else "the labels"


def _meet_apart(index: Index, run: Execution, loss: Applied, tried: Mapping[object, Trial]) -> bool:
    """Whether some score meets the label of another place."""
    if not _is_entropy(loss):
        return False
    scores, labels = loss.args[:2]
    passes = [one for one in operands_of(index, scores) if network_of(one) in tried]
    asked = [one for one in operands_of(index, labels) if isinstance(one, Part)]
    if len(passes) != 1 or len(asked) != 1 or not isinstance(passes[0], Delayed) or not passes[0].args:
        return False
    tokens = [one for one in operands_of(index, passes[0].args[0]) if isinstance(one, Part)]
    if len(tokens) != 1 or part_path(tokens[0])[0] is not part_path(asked[0])[0]:
        return False
    layouts = [_is_samples_first(run, one) for one in (tokens[0], asked[0])]
    numbers = [NUMBERS if layout is not False else NUMBERS.T for layout in layouts]
    if None in layouts and False in layouts:
        return False  # one of them may be laid out like the other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = computed(index, passes[0].args[0], tokens, numbers[:1])
        if read is None or read.ndim != 2:
            return False
        given = _scored(read, tried[network_of(passes[0])])
        row = _one_axis_less(computed(index, scores, passes, [given]), given.shape[-1])
        wanted = computed(index, labels, asked, numbers[1:])
    return row is not None and wanted is not None and _differ(row, wanted)


def network_of(value: Value) -> object:
    """The class of the network that a value is a pass of."""
    bound = getattr(value.callee, "bound", None) if isinstance(value, Delayed) else None
    return bound.cls if isinstance(bound, Instance) else None


def _is_samples_first(run: Execution, part: Part) -> bool | None:
    """Whether a part of a batch was padded to samples first; None where that cannot be seen."""
    if not is_loader(part_path(part)[0]):
        return None
    made = [peeled(one) for one in drawn(run, part)]
    if len(made) != 1 or not isinstance(made[0], Applied) or not made[0].callee.endswith("pad_sequence"):
        return None
    told = made[0].keywords.get("batch_first", made[0].args[1] if len(made[0].args) > 1 else Constant(False))
    return bool(told.value) if isinstance(told, Constant) else None


def _scored(read: Array, trial: Trial) -> Array:
    """The scores of a network for numbered tokens: all of a place have its number."""
    keeps = trial.sizes[0][:2] == trial.fitting.arrays[0].shape
    return np.repeat((read if keeps else read.T)[..., None], trial.sizes[0][-1], axis=-1)


def _one_axis_less(scores: Array | None, classes: int) -> Array | None:
    """The numbers of the places, without the axis of the classes; None where others have its length."""
    if scores is None:
        return None
    axes = [axis for axis, size in enumerate(scores.shape) if size == classes]
    return np.take(scores, 0, axis=axes[0]) if len(axes) == 1 else None


def _differ(row: Array, wanted: Array) -> bool:
    if row.shape != wanted.shape or row.size != NUMBERS.size:
        return False
    is_numbering = set(row.ravel().tolist()) == set(wanted.ravel().tolist()) == set(range(NUMBERS.size))
    return is_numbering and not np.array_equal(row, wanted)
