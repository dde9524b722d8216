"""A validation metric was better in the middle of the run than at its end.

## What it checks
Whether the drop from the best stretch of a metric to its end is larger than chance allows. The best of many
noisy values always beats the last one, so the drop is compared with what a metric that never gets worse
would show with the same noise and the same memory in the noise. With fewer than twelve evaluations only a
collapse is judged: several evaluations in a row far below all of several before them. An accuracy that moves
in steps of 1/n was counted on n samples, and must fall by more than n samples stray.

## Why it matters
The model at the end is not the model to keep, and whatever was trained after the peak did harm. Before any
story about the peak is believed: is it better than doing nothing at all?

## When it is harmless
Declines of a few tenths of a percent are real and rarely worth a thought; they are notes, and so are errors
that rise by less than a tenth without undoing a good part of what was gained. The best of
several hundred evaluations is partly luck. Where the accuracy still improves, a validation loss that rises by
less than half is the certainty of the model, not a loss of skill. A metric measured on something that
changes with training (a curriculum, a moving reference) can decline while the model improves.

## References
- Barlow et al., "Statistical Inference Under Order Restrictions", 1972
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.detectors.counted import error_of_difference, samples
from stethoscope.detectors.peak import LEAST_POINTS, Peak, collapse, peak
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run.names import HIGHER, LOWER
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.loss import ADVERSARIAL, PERCEPTUAL, TrainLoss, words
from stethoscope.signals.validation import EVALUATE_MORE, Metric, Validation

RULE = Rule(code="VAL101", since="0.1", severity=Severity.WARNING)

LARGE = 0.05  # of the best value: always worth a warning
MODERATE = 0.01  # worth one when it also undoes a visible part of the gain
OF_GAIN = 0.05
NEGLIGIBLE = 0.001
RISE = 0.1  # of an error: less is the usual end of a good training, which the best checkpoint avoids
RISE_OF_GAIN = 0.25  # what was gained that a smaller rise must undo to matter
MOST_OF_GAIN = 1.0  # more was never gained in this log: its beginning is that of a trained network
LARGE_RISE = 0.5  # of a loss, beyond what certainty explains
COUNTED = frozenset({"accuracy", "acc", "top1", "top5", "precision", "recall", "match", "error"})
EXPLAINED = frozenset({"r2", "mcc", "kappa", "pearson", "spearman"})  # zero says nothing, and one all
LEAST_SHARE = 0.2  # what a drop of these is compared with at least
LIKENESSES = frozenset({"ssim", "msssim", "dice", "iou", "miou"})  # a loss is often made of them
HALVED = 0.5  # of the best value
ERRORS = 2.0  # standard errors of the difference of two counted shares
MOSTLY = 0.5  # of a drop
BEYOND_GAIN = 1e9  # stands for a metric that had gained nothing
FEW = 0.25  # a share of declining metrics below this is one odd metric among many


@dataclass(frozen=True, slots=True, eq=False)
class Decline:
    """A metric that declines, its test, and the drop relative to its best value and to what it had gained."""

    metric: Metric
    seen: Peak
    relative: float
    of_gain: float

    @property
    def matters(self) -> bool:
        """Whether a person would care."""
        if self.metric.better == LOWER and self.relative < RISE:
            return self.relative >= 0.5 * RISE and RISE_OF_GAIN <= self.of_gain <= MOST_OF_GAIN
        undone = OF_GAIN <= self.of_gain <= MOST_OF_GAIN
        return self.relative >= LARGE or (self.relative >= MODERATE and undone)


def examine(
    validation: Validation, loss: TrainLoss | None, curriculum: Curriculum | None
) -> Iterator[Finding]:
    """Report the metric that declines most clearly, and name the others."""
    judged = validation.judged
    if not judged:
        names = ", ".join(sorted(validation.metrics)[:3])
        raise InsufficientData(f"whether higher or lower is better is not known for {names}")
    longest = max(len(metric.series) for metric in judged.values())
    tested = [metric for metric in judged.values() if len(metric.series) >= min(longest, LEAST_POINTS)]
    found = [decline for metric in tested if (decline := _decline(metric)) is not None]
    if not found and longest < LEAST_POINTS:
        raise InsufficientData(f"cannot tell a decline from noise with {longest} evaluations", EVALUATE_MORE)
    if found:
        worst = max(found, key=lambda one: (one.matters, one.relative))
        cautious = (loss is not None and loss.reinforced) or len(found) < FEW * len(tested)
        cautious = cautious or _only_certainty(worst, validation) or _is_a_distance(worst, validation)
        for_looks = loss is not None and _pays_for_looks(worst, loss)
        follows = _follows_difficulty(worst, loss, curriculum)
        yield _finding(worst, [one for one in found if one is not worst], cautious, for_looks, follows)


def _pays_for_looks(worst: Decline, loss: TrainLoss) -> bool:
    """Whether most of the drop comes once a term for looks is in play."""
    terms = [one for name, one in loss.terms.items() if words(name) & (ADVERSARIAL | PERCEPTUAL)]
    begins = [int(one.steps[one.values != 0.0][0]) for one in terms if one.values.any()]
    series, seen = worst.metric.series, worst.seen
    if not begins or min(begins) <= seen.best_step:
        return bool(terms)
    before = series.values[(series.steps > seen.best_step) & (series.steps < min(begins))]
    lost = seen.best - worst.metric.sign * float(before[-1]) if len(before) else 0.0
    return lost < MOSTLY * seen.drop


def _only_certainty(worst: Decline, validation: Validation) -> bool:
    """Whether a loss rises, by less than half, while a score of the same model still improves."""
    is_loss = worst.metric.better == LOWER and worst.relative < LARGE_RISE
    return is_loss and validation.still_improves(worst.seen.best_step) != ""


def _is_a_distance(worst: Decline, validation: Validation) -> bool:
    """Whether what is called a likeness halves while another score improves: 1 - SSIM, logged as SSIM."""
    is_likeness = not LIKENESSES.isdisjoint(words(worst.metric.series.name))
    halves = worst.metric.better == HIGHER and worst.relative >= HALVED
    return is_likeness and halves and validation.still_improves(worst.seen.best_step) != ""


def _follows_difficulty(worst: Decline, loss: TrainLoss | None, curriculum: Curriculum | None) -> bool:
    """Whether the metric, and the training loss with it, worsens as the logged difficulty rises.

    Where the training loss falls meanwhile, the model gets better at the harder task, and worse at another.
    """
    if curriculum is None or curriculum.difficulty is None:
        return False
    metric, since = worst.metric, worst.seen.best_step
    errors = replace(metric.series, values=-metric.sign * metric.series.values)
    trained = loss is None or not loss.measures_progress or curriculum.explains(loss.series.finite(), since)
    return trained and curriculum.explains(errors, since)


def _decline(metric: Metric) -> Decline | None:
    values = metric.sign * metric.series.values
    seen = peak(metric.series.steps, values) or collapse(metric.series.steps, values)
    if seen is None or not seen.declines or _strays_so_far(metric, seen):
        return None
    least = LEAST_SHARE if words(metric.series.name) & EXPLAINED else 1e-300
    relative = seen.drop / max(abs(seen.best), least)
    gain = seen.best - float(np.median(values[: max(1, seen.window // 2)]))
    if relative < NEGLIGIBLE:
        return None
    return Decline(metric, seen, relative, seen.drop / gain if gain > 0.0 else BEYOND_GAIN)


def _strays_so_far(metric: Metric, seen: Peak) -> bool:
    """Whether an accuracy on so few samples falls so far by their choice alone."""
    if not words(metric.series.name) & COUNTED:
        return False
    unit = 100.0 if float(metric.series.values.max()) > 1.0 else 1.0
    count = samples(metric.series.values / unit)
    if count is None:
        return False
    share = 0.5 * (seen.best + seen.end) / unit
    return seen.drop / unit < ERRORS * error_of_difference(share, count)


def _finding(
    worst: Decline, others: list[Decline], cautious: bool, for_looks: bool, follows: bool
) -> Finding:
    series, seen, sign = worst.metric.series, worst.seen, worst.metric.sign
    last = int(series.steps[-1])
    best, end = sign * seen.best, sign * seen.end
    verb = "falls" if sign > 0 else "rises"
    message = (
        f"{series.name} is best around step {seen.best_step:,} at {best:.4g} and {verb} to {end:.4g} by step "
        f"{last:,} ({worst.relative:.1%} worse, p = {seen.p:.2g})"
    )
    raw = int(np.argmax(sign * series.values))
    return Finding(
        tuple(one.metric.series.where(one.seen.best_step, last) for one in [worst, *others][:4]),
        message,
        {
            "metric": series.name,
            "better": worst.metric.better or "",
            "best_step": seen.best_step,
            "best_value": best,
            "best_single_step": int(series.steps[raw]),
            "best_single_value": float(series.values[raw]),
            "end_value": end,
            "drop": seen.drop,
            "drop_relative": worst.relative,
            "drop_of_gain": min(worst.of_gain, BEYOND_GAIN),
            "p": seen.p,
            "evaluations": len(series),
            "from_the_start": raw <= max(1, len(series) // 10),
            "adversarial_terms": for_looks,
            "follows_difficulty": follows,
            "also": ", ".join(one.metric.series.name for one in others),
        },
        strength=min(1.0, 0.5 + 5.0 * worst.relative) if worst.matters else 0.3,
        onset=seen.best_step,
        severity=Severity.WARNING if worst.matters and not cautious else Severity.NOTE,
    )
