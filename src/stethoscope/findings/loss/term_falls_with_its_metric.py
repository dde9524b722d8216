"""A loss term and the validation metric it is named after fall together.

## What it checks
A logged loss term named after a similarity (SSIM, PSNR, cosine, Dice, IoU) beside the validation metric of
the same name, for which higher is better. A correct term is one minus the similarity, so it falls while the
metric rises. Here both fall. Where the weight of the term is known, its level tells too: a term that
equals its weight times the similarity *is* the similarity.

## Why it matters
The optimiser is told to make images less alike, and does. The total loss looks healthy all the way.

## When it is harmless
An overfitted model lowers its training term while the metric on other data falls. Then the metric had
risen first; such a curve is left to the rules on overfitting unless the levels prove the sign.

## References
- Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.detectors.robust_stats import smoothed
from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.run.names import HIGHER
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.loss_settings import LossSettings
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS105", since="0.1", severity=Severity.WARNING)

SIMILARITIES = ("ssim", "psnr", "cosine", "cos", "dice", "iou", "similarity", "correlation")
LEAST_EVALUATIONS = 5
MOST_PAIRS = 64  # a run in which more fall together is described well enough
SURELY = 0.02
LEAST_FALL = 0.01  # of the term's or the metric's own level
EARLY = 0.2  # a metric that falls from the start has its best value in this first part of the run
SAME_LEVEL = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A term and its metric, with the term averaged over the interval before each evaluation."""

    name: str
    term: Series
    metric: Series
    at_metric: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def correlation(self) -> float:
        """How the two move together."""
        if np.ptp(self.at_metric) <= 0.0 or np.ptp(self.metric.values) <= 0.0:
            return 0.0
        return float(np.corrcoef(self.at_metric, self.metric.values)[0, 1])


def examine(loss: TrainLoss, validation: Validation, settings: LossSettings | None) -> Iterator[Finding]:
    """Fire on each similarity that falls on both sides."""
    terms, metrics = _terms(loss), _similarities(validation)
    metrics = [(measured, metric) for measured, metric in metrics if measured in terms]
    if not metrics:
        raise InsufficientData("no similarity is logged both as a loss term and as a validation metric")
    metrics = [(measured, metric) for measured, metric in metrics if len(metric) >= LEAST_EVALUATIONS]
    if not metrics:
        raise InsufficientData(f"fewer than {LEAST_EVALUATIONS} evaluations to compare with the loss term")
    for pair in islice(_both_falling(terms, metrics), MOST_PAIRS):
        weight = settings.weight_of(pair.name) if settings else None
        level = _level(pair, weight)
        together = _from_the_start(pair) and pair.correlation > 0.0
        if level == "similarity" or (level == "" and together):
            yield _finding(pair, level, weight)


Terms = dict[str, dict[str, Series]]


def _terms(loss: TrainLoss) -> Terms:
    """The terms long enough to compare, by the similarity each is named after and by name."""
    terms: Terms = {}
    for name, series in loss.terms.items():
        measured = _similarity(name)
        if measured and len(term := series.finite()) >= LEAST_EVALUATIONS:
            terms.setdefault(measured, {})[name] = term
    return terms


def _similarities(validation: Validation) -> list[tuple[str, Series]]:
    """The metrics of which more is better, each with the similarity it is named after."""
    higher = [metric.series for metric in validation.judged.values() if metric.better == HIGHER]
    return [(_similarity(series.name.rpartition("/")[2]), series) for series in higher]


def _both_falling(terms: Terms, metrics: list[tuple[str, Series]]) -> Iterator[Pair]:
    """Each falling metric with each falling term of its name."""
    falling: Terms = {}
    for measured, metric in metrics:
        if not _falls(metric):
            continue
        if measured not in falling:
            falling[measured] = {name: term for name, term in terms[measured].items() if _falls(term)}
        for name, term in falling[measured].items():
            yield Pair(name, term, metric, _before_each(term, metric))


def _similarity(name: str) -> str:
    """The similarity a name speaks of: ms_ssim and mssim are ssim too."""
    spoken = words(name)
    for similarity in SIMILARITIES:
        if similarity in spoken or any(len(similarity) > 3 and word.endswith(similarity) for word in spoken):
            return "cosine" if similarity == "cos" else similarity
    return ""


def _before_each(term: Series, metric: Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The mean of the term over the interval that ends at each evaluation."""
    total = np.cumsum(np.insert(term.values, 0, 0.0))
    upto = np.clip(np.searchsorted(term.steps, on_axis_of(metric, term), side="right"), 1, len(term))
    since = np.minimum(np.insert(upto[:-1], 0, 0), upto - 1)
    return np.asarray((total[upto] - total[since]) / (upto - since), dtype=np.float64)


def _falls(series: Series) -> bool:
    level = float(np.median(np.abs(series.values)))
    line = trend(series.steps, series.values)
    if line is not None and line.p_falling < SURELY and -line.change > LEAST_FALL * level:
        return True
    # A fall that is over early is no straight line: compare its ends.
    part = max(2, len(series) // 5)
    first, last = series.values[: max(1, part // 2)], series.values[-part:]
    return float(first.min() - last.max()) > LEAST_FALL * level


def _from_the_start(pair: Pair) -> bool:
    best = int(np.argmax(pair.metric.values))
    return best <= EARLY * len(pair.metric)


def _level(pair: Pair, weight: float | None) -> str:
    """Whether the term's level is that of the "similarity" or of one minus it, the "distance"."""
    if not weight or not 0.0 < float(np.median(pair.metric.values)) < 1.0:
        return ""
    implied = np.median(pair.at_metric) / abs(weight)
    metric = np.median(pair.metric.values)
    as_similarity, as_distance = abs(implied - metric), abs(1.0 - implied - metric)
    if min(as_similarity, as_distance) > SAME_LEVEL or abs(as_similarity - as_distance) < SAME_LEVEL / 2.0:
        return ""
    return "similarity" if as_similarity < as_distance else "distance"


def _finding(pair: Pair, level: str, weight: float | None) -> Finding:
    term, metric = pair.term, pair.metric
    message = (
        f"{term.name} falls from {_top(term):.4g} to {term.values[-1]:.4g} and {metric.name} falls with it, "
        f"from {_top(metric):.4g} to {metric.values[-1]:.4g}: the loss rewards what it should punish"
    )
    if level:
        message += f". Its level is that of the similarity itself (weight {weight:g})"
    evidence: dict[str, object] = {
        "term": term.name,
        "metric": metric.name,
        "correlation": round(pair.correlation, 3),
        "level": level,
        "term_top": _top(term),
        "term_last": float(term.values[-1]),
        "metric_top": _top(metric),
        "metric_last": float(metric.values[-1]),
    }
    if weight is not None:
        evidence["weight"] = weight
    strength = 1.0 if level else min(0.9, 0.4 + 0.5 * max(0.0, pair.correlation))
    return Finding((term.where(), metric.where()), message, evidence, strength, onset=int(term.steps[0]))


def _top(series: Series) -> float:
    """The highest level from which the series came down, without its noise."""
    return float(smoothed(series.values, max(1, len(series) // 20)).max())
