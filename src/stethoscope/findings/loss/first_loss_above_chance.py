"""The first loss is far above that of a guess.

## What it checks
The first logged loss of a classifier or language model against the logarithm of the number of its classes,
which is the cross-entropy of a guess. The number comes from the settings. Where they do not tell it, the
share of right answers at the start does, roughly, and the first loss must be four times that of a guess.

## Why it matters
An untrained network that guesses costs ln C: 2.3 for ten classes, 10.8 for a vocabulary of 50,000. One that
starts at twice that is sure of wrong answers: its first outputs are large. That comes from weights that
start too large, or inputs that do.

## When it is harmless
Losses with further terms, of several outputs, of a teacher or with a margin between classes have another
level, and so has a loss that is summed up; nothing is said where terms are logged, where settings speak of
them, or where the loss ends above a guess as well. A run from trained weights starts below.

## References
- Karpathy, "A recipe for training neural networks", 2019: verify the loss at the start
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Setting
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.settings import Settings
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS131", since="0.3", severity=Severity.WARNING)

TIMES = 1.6  # a guess: healthy starts lie within a fifth of it
TIMES_ROUGHLY = 4.0  # where the number of classes is only inferred
SAME_SCALE = 2.0  # times a guess: what the loss comes down to, where it is a mean over samples
RIGHT = (0.02, 0.6)  # shares of right answers that can be guesses among some tens of classes
FIRST = 3  # values
FIRST_STEPS = 0.02  # of the run: what is logged later is no start
FEWEST = 20
FEWEST_EVALUATIONS = 8
FAR_DOWN, HALF_RIGHT = 30.0, 0.5  # times lower is the last loss, of answers of which most are wrong
_WORDS = frozenset({"vocab_size", "n_vocab", "vocabulary_size", "padded_vocab_size"})
_CLASSES = frozenset(
    {"num_classes", "n_classes", "nb_classes", "classes", "num_labels", "n_class", "num_class"}
)
# Losses with more to them, and margins between classes, which make the scores larger on purpose.
_ANOTHER_LEVEL = re.compile(
    r"distill|teacher|aux|loss_weight|multi_?task|bbox|detect|segment|margin|arcface|cosface|sphere|am_?softmax"
)


def examine(
    loss: TrainLoss, settings: Settings | None, start: StartingPoint, every: EverySeries
) -> Iterator[Finding]:
    """Fire where an untrained network does far worse than a guess and later comes below one."""
    series = loss.series.finite()
    if settings is not None and _speaks_of_another_level(settings):
        raise InsufficientData("the loss has more to it than the choice of a class")
    if len(series) < FEWEST:
        raise InsufficientData(f"only {len(series)} values of the loss were logged")
    late = int(series.steps[0]) > max(FIRST_STEPS * int(series.steps[-1]), 1)
    if not loss.measures_progress or len(loss.terms) > 1 or not start.from_scratch or late:
        raise InsufficientData("the log does not show the first loss of an untrained network by itself")
    known = _outcomes(settings, every) if settings is not None else None
    if known is not None:
        yield from _against_known(series, *known)
    elif (right := _right_at_first(every)) is not None:
        yield from _against_inferred(series, *right)
    else:
        raise InsufficientData("neither settings nor an accuracy tell among how many classes is chosen")


def _against_known(series: Series, setting: Setting, number: int) -> Iterator[Finding]:
    first, last = float(series.values[0]), _last(series)
    guess = math.log(number)
    if first >= TIMES * guess and last < guess:
        yield Finding(
            (series.where(int(series.steps[0])), setting.where),
            f"the first loss is {first:.3g}, and a guess among {number:,} costs {guess:.3g}: the untrained "
            "network is sure of wrong answers",
            evidence={"first": first, "guess": guess, "classes": number},
            onset=int(series.steps[0]),
        )


def _against_inferred(series: Series, right: float, at_end: float, in_training: bool) -> Iterator[Finding]:
    first, last = float(series.values[0]), _last(series)
    guess = -math.log(right)
    comes_down = in_training and last < min(SAME_SCALE * guess, first / TIMES_ROUGHLY)
    # A sum over samples comes down as far only where nearly all answers are right.
    far_down = last < first / FAR_DOWN and at_end <= HALF_RIGHT
    if first >= TIMES_ROUGHLY * guess and (comes_down or far_down):
        yield Finding(
            series.where(int(series.steps[0])),
            f"the first loss is {first:.3g}, and a guess that is right {right:.0%} of the time costs about "
            f"{guess:.3g}: the untrained network is sure of wrong answers",
            evidence={"first": first, "guess": guess, "right": right},
            strength=0.8,
            onset=int(series.steps[0]),
        )


def _last(series: Series) -> float:
    return float(np.median(series.values[-max(len(series) // 10, 1) :]))


def _right_at_first(every: EverySeries) -> tuple[float, float, bool] | None:
    """The shares of right answers at the beginning, where it can be that of guesses, and at the end.

    And whether they were counted in training: held-out ones are asked late, and tell of less.
    """
    told = [every.series.get("train/accuracy"), every.series.get("val/accuracy")]
    accuracy = next((one.finite() for one in told if one is not None), None)
    if accuracy is None or len(accuracy) < (FEWEST if told[0] is not None else FEWEST_EVALUATIONS):
        return None
    values = accuracy.values / (100.0 if float(accuracy.values.max()) > 1.0 else 1.0)
    right = float(np.median(values[:FIRST]))
    possible = RIGHT[0] <= right <= RIGHT[1]
    return (right, float(np.median(values[-FIRST:])), told[0] is not None) if possible else None


def _speaks_of_another_level(settings: Settings) -> bool:
    return any(one.value and _ANOTHER_LEVEL.search(f"{one.dotted} {one.value}".lower()) for one in settings)


def _outcomes(settings: Settings, every: EverySeries) -> tuple[Setting, int] | None:
    """The setting with the number of classes or words."""
    told = any(name.rpartition("/")[2] in {"accuracy", "perplexity", "bpb"} for name in every.series)
    names = _WORDS | _CLASSES if told else _WORDS
    found = {
        one.value: one
        for one in settings
        if one.leaf.lower() in names and isinstance(one.value, int) and one.value > 1
    }
    return next(((one, number) for number, one in found.items()), None) if len(found) == 1 else None
