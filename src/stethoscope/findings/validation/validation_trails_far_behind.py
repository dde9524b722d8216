"""The validation loss follows training as if through treacle: the same way, many times more slowly.

## What it checks
A validation loss with ten evaluations or more that begins where the training loss begins. It fires where
training has lost half of its loss or more and validation has gone less than half of that way, where it falls
at nearly every evaluation, is as smooth as no single network is, and falls to the end as it did before. It
may come further, where a good part of its way still lies ahead when training has nearly arrived. Where only
a PSNR was logged, which tells an error too: whether that error falls in the same way by a fifth or more, and
the training loss, which had fallen by a third before, by less than half as much; that is only a note, for
its noise may be that of the targets.

## Why it matters
Weights that learn are heard of at the next evaluation. Ones that are still mostly those of the beginning,
because an average of the weights moves too slowly for the run, creep along behind them, and the checkpoint
that is kept is far worse than the network that was trained.

## When it is harmless
Held-out data that are harder have a higher loss from the first evaluations on, and come to rest. A network
that learns by heart stops gaining on held-out data, or loses again. Both wander from one evaluation to the
next, as every network does whose last batches moved it.

## References
- Morales-Brotons et al., "Exponential Moving Average of Weights in Deep Learning", 2024
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Steps, Values
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL381", since="0.7", severity=Severity.WARNING)

LEAST_EVALUATIONS = 10
LEAST_POINTS = 10
BEGINS_ALIKE = (0.75, 1.33)  # times the first training loss: the first validation loss
AFTER_AN_EPOCH = 2.0  # and where the first training loss is the mean of a whole epoch
BY_EPOCH = 1.5  # training losses for each evaluation, at most
LEARNS = 0.5  # of the first training loss
MOST_OF_THE_WAY = 0.5  # of what training lost
LEAST_FALL = 0.03  # of the first validation loss
FALLS = 0.9  # of the evaluations are lower than the one before
SMOOTH = 0.004  # of the whole fall: the noise of one evaluation
HARDLY_BEGUN = 0.3  # of what training lost
SMOOTH_FOR_LITTLE = 0.03  # of a fall as short as that
AHEAD = 0.2  # of the validation's fall, at half time, when training has made nearly all of its own
ARRIVED = 0.9  # of training's fall
STILL = 0.1  # of the whole fall is made in the last quarter; a steady one makes a quarter
NEARLY_THERE = 0.05  # of it, where the validation has come most of the way
EARLY = 0.25  # of the steps: there training had passed the last level of the validation
LEAST_SCORES = 8
DECIBELS = 2.0  # gained by the score: a fifth of the error
HAD_LEARNED = 1.5  # times its level at rest: the first training loss
BESIDE = 0.5  # of the error's fall from the second evaluation to the last: what the training loss falls by
STEADY = 0.13  # of the whole gain is made in the last quarter
SMOOTH_SCORES = 0.01  # of the whole fall: the noise of one, and what a few evaluations leave of a bend


def examine(validation: Validation, loss: TrainLoss, curriculum: Curriculum | None) -> Iterator[Finding]:
    """Fire where the validation loss is on its way, smoothly, and far behind."""
    metric = validation.metrics.get("val/loss")
    scores = [one.series for name, one in validation.metrics.items() if "psnr" in words(name)]
    if metric is None and scores:
        yield from _of_score(scores[0], loss, curriculum)
        return
    if metric is None:
        raise InsufficientData("no validation loss was logged", 'log({"val/loss": ...})')
    held, train = metric.series, loss.series.finite()
    if len(held) < LEAST_EVALUATIONS or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    part = max(1, len(train) // 20)
    begun, ended = float(train.values[:3].max()), float(np.median(train.values[-part:]))
    first, last = float(held.values[0]), float(held.values[-1])
    learns = loss.measures_progress and begun > 0.0 and ended <= LEARNS * begun
    by_epoch = train.axis == "epoch" or len(train) <= BY_EPOCH * len(held)
    highest = AFTER_AN_EPOCH if by_epoch else BEGINS_ALIKE[1]
    smooth = SMOOTH_FOR_LITTLE if first - last <= HARDLY_BEGUN * (begun - ended) else SMOOTH
    if (
        not learns
        or not BEGINS_ALIKE[0] * begun <= first <= highest * begun
        or not _creeps(held.values, NEARLY_THERE, smooth)
    ):
        return
    steps = on_axis_of(train, held)
    far_from_there = first - last <= MOST_OF_THE_WAY * (begun - ended)
    if not (
        _creeps(held.values, STILL, smooth)
        if far_from_there
        else _starts_late(held, train.values, steps, begun - ended)
    ):
        return
    passed = int(np.argmax(train.values <= last))
    if train.values[passed] > last or steps[passed] > EARLY * held.steps[-1]:
        return
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} falls from {first:.4g} to {last:.4g}, smoothly and to the end, where {train.name} was "
        f"by step {int(train.steps[passed]):,} on its way from {begun:.4g} to {ended:.4g}",
        {"first": first, "last": last, "train_first": begun, "train_last": ended},
        onset=int(held.steps[0]),
    )


def _of_score(held: Series, loss: TrainLoss, curriculum: Curriculum | None) -> Iterator[Finding]:
    """A PSNR that climbs evenly, while the loss of the weights that learn came to rest long before."""
    train = loss.series.finite()
    if len(held) < LEAST_SCORES or len(train) < LEAST_POINTS:
        raise InsufficientData(f"cannot tell with {len(held)} evaluations", EVALUATE_MORE)
    if not loss.measures_progress or curriculum is not None or held.values[-1] - held.values[0] < DECIBELS:
        return
    error = 10.0 ** (-held.values / 20.0)
    behind = train.values[on_axis_of(train, held) >= held.steps[1]]
    if len(behind) < LEAST_POINTS or not _creeps(error, STEADY, SMOOTH_SCORES):
        return
    early, late = (float(np.median(part)) for part in np.array_split(behind, 4)[::3])
    begun, falls = float(train.values[0]), 1.0 - float(error[-1] / error[1])
    if late <= 0.0 or begun < HAD_LEARNED * late or late < (1.0 - BESIDE * falls) * early:
        return
    first, last = float(held.values[0]), float(held.values[-1])
    yield Finding(
        (held.where(), train.where()),
        f"{held.name} climbs from {first:.4g} to {last:.4g}, smoothly and to the end, while {train.name} is "
        f"long down from {begun:.4g} and stays around {late:.4g}",
        {"first": first, "last": last, "train_first": begun, "train_last": late},
        onset=int(held.steps[0]),
        severity=Severity.NOTE,
    )


def _starts_late(held: Series, train: Values, steps: Steps, fall: float) -> bool:
    """Whether much of the validation's way lies ahead at half time, and next to nothing of training's."""
    middle = len(held) // 2
    then = int(np.searchsorted(steps, held.steps[middle]))
    ended = float(np.median(train[-max(1, len(train) // 20) :]))
    near = float(np.median(train[max(0, then - 1) : then + 2])) - ended <= (1.0 - ARRIVED) * fall
    values = held.values
    return near and float(values[middle] - values[-1]) >= AHEAD * float(values[0] - values[-1])


def _creeps(values: Values, still: float, smooth: float) -> bool:
    """Whether values fall nearly every time, smoothly, and at the end as before."""
    fall = float(values[0] - values[-1])
    if fall < LEAST_FALL * abs(float(values[0])):
        return False
    quarter = values[-(len(values) // 4 + 1) :]
    steadily = float(np.mean(np.diff(values) < 0.0)) >= FALLS
    goes_on = float(quarter[0] - quarter[-1]) >= still * fall
    return steadily and goes_on and noise_sd(values) <= smooth * fall
