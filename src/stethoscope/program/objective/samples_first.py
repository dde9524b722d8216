"""Scores that CTC is handed with the samples where it takes the places.

The network is known from being tried: its first axis is that of the samples where one sample does not reach
another. What is done to its scores before the loss is computed on an array of three known lengths.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import Index
from stethoscope.program.objective.aligned_scores import ALIGNING
from stethoscope.program.objective.flattened_orders import network_of
from stethoscope.program.objective.probe import computed, operands_of
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Part, Site, Value

SAMPLES = 3
SHAPE = (SAMPLES, 5, 7)  # samples, places and signs: no two lengths are the same


@dataclass(frozen=True, slots=True, eq=False)
class SamplesFirst:
    """An alignment whose samples are taken for places, and the network that scores them."""

    site: Site
    network: str


@remembered
def samples_first(index: Index, settings: SettingsTree) -> tuple[SamplesFirst, ...]:
    """Follow the scores of every alignment that is minimised from the network to the loss."""
    if not any("ctc" in source.text.lower() for source in index.program):
        return ()
    tried: dict[object, Trial] = {one.cls: one for one in trials(index, settings) if _scores_places(one)}
    found: dict[int, SamplesFirst] = {}
    for one in minimised(index, settings) if tried else ():
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for value in ingredients(one.run, one.sink.value):
                if not (isinstance(value, Applied) and value.callee.endswith(ALIGNING)):
                    continue
                given = value.args[0] if value.args else value.keywords.get("log_probs")
                name = _network_before(index, one.run.force(given), tried) if given is not None else ""
                if name:
                    found.setdefault(id(value.site.node), SamplesFirst(value.site, name))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _scores_places(trial: Trial) -> bool:
    """Whether a network surely takes samples first, and gives signs for places of samples in this order."""
    kind, samples = trial.fitting.kinds[0], trial.fitting.arrays[0].shape[0]
    is_sure = kind in {"signal", "picture"} or trial.mixes[1] is True
    if not is_sure or trial.mixes[0] is not False or not trial.sizes or len(trial.sizes[0]) != 3:
        return False
    return trial.sizes[0][0] == samples and samples not in trial.sizes[0][1:]


def _network_before(index: Index, given: Value, tried: Mapping[object, Trial]) -> str:
    """The network whose samples still stand first in what the alignment is given."""
    for one in operands_of(index, given):
        base = one.base if isinstance(one, Part) and one.key == 0 else one
        trial = tried.get(network_of(base))
        if trial is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = computed(index, given, [one], [np.random.default_rng(0).normal(size=SHAPE)])
        if result is not None and result.ndim == len(SHAPE) and result.shape[0] == SAMPLES:
            return trial.cls.name
    return ""
