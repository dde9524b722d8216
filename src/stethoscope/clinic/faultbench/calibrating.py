"""Fit the temperature that makes probabilities come true, on the part of the bench that may be tuned on.

A probability p becomes sigmoid(logit(p) / T): one number, which leaves every ranking as it is. It is chosen
so that the log loss of the *first* cause of each run is smallest. The first cause is what a person acts on
and what the calibration error measures. The later ones cannot be judged: a label says what was planted, not
what that brought about, so that a consequence rightly named beside its root would count as wrong. Runs in
which nothing is wrong count where a cause is named for them, and both kinds of evidence count alike: the
program does not know which part of a run somebody did not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stethoscope.causes.calibration import TEMPERATURE
from stethoscope.clinic.faultbench.scoring import Judged, calibration_error
from stethoscope.clinic.faultbench.split import Part, part_of

Numbers = npt.NDArray[np.float64]

COLDEST, HOTTEST = 0.2, 20.0
NARROWER = 60  # halvings, nearly, of the interval: far below what any set of runs decides
CERTAIN = 1e-12  # a probability this near to 0 or 1 is as near as one is recorded
FEWEST = 100  # runs with a cause named; fewer decide nothing


@dataclass(frozen=True, slots=True)
class Fit:
    """A temperature and what it does on the runs it was fitted to."""

    temperature: float
    runs: int
    log_loss: tuple[float, float]  # before and after
    calibration_error: tuple[float, float]


def fit(runs: Iterable[Judged]) -> Fit:
    """The best temperature for these runs; those that are held out are left out, whoever passes them."""
    named = [run for run in runs if run.opinion.causes and part_of(run.label) is Part.TUNING]
    if not named:
        return Fit(TEMPERATURE, 0, (np.nan, np.nan), (np.nan, np.nan))
    odds, right = _log_odds(named), np.array([run.is_right(1) for run in named], dtype=np.float64)
    further = _best(odds, right)
    losses = (log_loss(odds, right, 1.0), log_loss(odds, right, further))
    errors = (calibration_error(named), calibration_error(tempered(named, further)))
    # The probabilities already have the temperature that is in force.
    return Fit(TEMPERATURE * further, len(named), losses, errors)


def tempered(runs: Sequence[Judged], temperature: float) -> list[Judged]:
    """The same runs with every probability at another temperature."""
    return [replace(run, opinion=replace(run.opinion, causes=_changed(run, temperature))) for run in runs]


def log_loss(odds: Numbers, right: Numbers, temperature: float) -> float:
    """The mean surprise, in nats, at what was right."""
    signed = np.where(right > 0.5, odds, -odds) / temperature
    return float(np.logaddexp(0.0, -signed).mean())


def _best(odds: Numbers, right: Numbers) -> float:
    """The smallest loss by golden section over the logarithm of the temperature, where it has one valley."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    low, high = np.log(COLDEST), np.log(HOTTEST)
    for _ in range(NARROWER):
        inner, outer = high - golden * (high - low), low + golden * (high - low)
        if log_loss(odds, right, float(np.exp(inner))) <= log_loss(odds, right, float(np.exp(outer))):
            high = outer
        else:
            low = inner
    return float(np.exp((low + high) / 2.0))


def _log_odds(runs: Sequence[Judged]) -> Numbers:
    return _logit(np.array([run.opinion.causes[0][1] for run in runs], dtype=np.float64))


def _logit(probabilities: Numbers) -> Numbers:
    inside = np.clip(probabilities, CERTAIN, 1.0 - CERTAIN)
    return np.asarray(np.log(inside) - np.log1p(-inside), dtype=np.float64)


def _changed(run: Judged, temperature: float) -> tuple[tuple[str, float], ...]:
    if not run.opinion.causes:
        return ()
    odds = _logit(np.array([probability for _, probability in run.opinion.causes], dtype=np.float64))
    cooled = 1.0 / (1.0 + np.exp(-odds / temperature))
    return tuple((name, float(p)) for (name, _), p in zip(run.opinion.causes, cooled, strict=True))
