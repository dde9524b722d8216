"""Along which axis the scores of an alignment are made probabilities, tried on numbers.

CTC takes log-probabilities as (places, samples, signs). Whatever is done to the scores before that, those
of one place and sample must sum to one over the signs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Index
from stethoscope.program.objective.probe import computed, operands_of
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.values import Applied, Site, Value

ALIGNING = ("ctc_loss", "CTCLoss()")
SHAPE = (3, 5, 7)  # of the scores: no two lengths are the same
SIGNS = 2  # the axis of the signs, of three
CLOSE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class AlignedScores:
    """Log-probabilities for an alignment that sum to one along another axis than that of the signs."""

    soft: Site
    aligned: Site
    along: int


def aligned_scores(index: Index, one: Minimised) -> Iterator[AlignedScores]:
    """The alignments that are minimised, and whose probabilities run along places or samples."""
    for value in ingredients(one.run, one.sink.value):
        if not (isinstance(value, Applied) and value.callee.endswith(ALIGNING)):
            continue
        given = value.args[0] if value.args else value.keywords.get("log_probs")
        along = _sums_to_one(index, one.run.force(given)) if given is not None else None
        if given is not None and along is not None and along != SIGNS:
            site = given.site if isinstance(given, Applied) else value.site
            yield AlignedScores(site, value.site, along)


def _sums_to_one(index: Index, given: Value) -> int | None:
    """The only axis of log-probabilities along which they are those of one choice."""
    operands = operands_of(index, given)
    numbers = np.random.default_rng(0).normal(size=SHAPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [one for one in operands if computed(index, given, [one], [numbers]) is not None]
        result = computed(index, given, scores, [numbers]) if len(scores) == 1 else None
    if result is None or result.ndim != len(SHAPE):
        return None
    axes = [axis for axis in range(result.ndim) if np.allclose(np.exp(result).sum(axis), 1.0, atol=CLOSE)]
    return axes[0] if len(axes) == 1 else None
