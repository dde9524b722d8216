"""A curve stops being a number.

## What it checks
Every logged series, for NaN, infinity and values beyond 1e30. It names the series that went bad first and
the step, says whether only one loss term is bad, and tells a few lost values from a run that never
recovers. A loss of exactly 0.0 beside a gradient norm that is NaN is a NaN in disguise: some trainers
print it that way. A series that is no loss counts when it was a number and is none to the end: a score on
held-out data always, any other where no loss shows that the model is well.

## Why it matters
NaN is contagious: one NaN in the loss puts NaN into every gradient, one update later into every weight,
and nothing that follows can remove it. The first bad value is the only one that says where to look.

## When it is harmless
A gradient norm of inf or NaN on a step that the loss scaler or Guard skipped is the scaler, or Guard, at
work, as long as most steps have one that is finite. A metric can be
undefined (no positives in a class), a PSNR is infinite for identical images, and tables with one column
per signal leave holes where a signal was not measured. A few isolated values that did not spread left the
weights intact.

## References
- IEEE 754, arithmetic on NaN and infinity
- `torch.amp.GradScaler`, which skips steps with non-finite gradients
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from stethoscope.detectors.non_finite import NonFinite, Pattern, scan
from stethoscope.findings._usual_rate import HIGH
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Series, Steps, Where
from stethoscope.run.names import LOWER, better
from stethoscope.signals.announcements import Announcements
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.mixed_precision import MixedPrecision
from stethoscope.signals.skipped_steps import GUARD, SCALER, UNKNOWN, SkippedSteps

RULE = Rule(code="NUM101", since="0.1", severity=Severity.CRITICAL)

OFTEN = 0.05  # a share of lost values above this is more than an accident
MUCH = 1 / 3  # of the logged gradients; a scaler that finds its scale loses fewer
FEW = 3  # evaluations in a row that are NaN
LONG = 8  # so many bad values in a row are an episode, not an outlier
FEW_BEFORE = 4  # numbers before the first that is none
GROWN = 3.0  # times the usual size, and the first: what is on its way out
DISGUISED = 3  # zeros beside NaN gradients; one or two may be a skipped first step
# What is said of bad values at skipped steps, by who skipped them.
SKIPPED = {
    SCALER: "the scaler skipped those steps",
    GUARD: "Guard skipped those steps",
    UNKNOWN: "those steps were skipped",
}
# Quantities that do not describe the model: their NaN is a division by zero in the logger.
CLOCKS = ("step_time", "throughput", "mem")
BOOKKEEPING = ("step_time", "data_time", "throughput", "mem", "epoch", "best", "eta", "time")


@dataclass(frozen=True, slots=True, eq=False)
class Bad:
    """A series with bad values."""

    series: Series
    seen: NonFinite

    @property
    def step(self) -> int:
        """The step of the bad value that matters: the one nothing follows, or the first."""
        at = self.seen.onset if self.seen.onset is not None else self.seen.first
        return int(self.series.steps[at or 0])

    @property
    def lasting(self) -> bool:
        """Whether no number follows."""
        return self.seen.pattern in (Pattern.PERMANENT, Pattern.ALL)

    @property
    def share(self) -> float:
        """The share of bad values."""
        return self.seen.count / len(self.series)


def examine(
    every: EverySeries,
    loss: TrainLoss | None,
    skipped: SkippedSteps | None,
    announcements: Announcements | None,
    precision: MixedPrecision,
) -> Iterator[Finding]:
    """Name the first bad series where it does lasting harm; otherwise note what was lost."""
    empty = _empty_rows(every)
    suspects = [name for name in every.series if _describes_the_model(name) and every.bad(name).count]
    bad = [one for one in (_bad(every, name, empty) for name in suspects) if one.seen.count]
    disguised = _disguised(every)
    total = loss.series.name if loss else "loss"
    fatal = sorted((one for one in bad if _is_fatal(one, every, total)), key=_order)
    if fatal:
        yield _lasting(fatal, every, bool(disguised), precision, skipped)
    elif disguised is not None:
        yield disguised
    elif (said := _said(announcements, precision)) is not None:
        yield said
    else:
        yield from _lost([one for one in bad if not one.lasting], skipped)


def _bad(every: EverySeries, name: str, empty: Steps) -> Bad:
    """The bad values of a series, other than those at steps where nothing was measured."""
    series = every.series[name]
    if len(empty) == 0:
        return Bad(series, every.bad(name))
    at = np.minimum(np.searchsorted(series.steps, empty), len(series) - 1)
    measured = np.ones(len(series), dtype=np.bool_)
    measured[at[series.steps[at] == empty]] = False
    left = series.select(measured)
    return Bad(left, scan(left.values))


def _describes_the_model(name: str) -> bool:
    parts = name.lower().replace("-", "_").replace("/", "_").split("_")
    return not any(word in parts or name.startswith(word) for word in BOOKKEEPING)


def _empty_rows(every: EverySeries) -> Steps:
    """Steps at which not even time or memory is a number: nothing was measured there."""
    clocks = [series for name, series in every.series.items() if name.split("/")[0] in CLOCKS]
    empty = [series.steps[~np.isfinite(series.values)] for series in clocks]
    return reduce(_in_both, empty) if empty else np.empty(0, dtype=np.int64)


def _in_both(one: Steps, other: Steps) -> Steps:
    """The steps of two series that both hold; each holds a step once."""
    return np.intersect1d(one, other, assume_unique=True)


def _is_loss(name: str) -> bool:
    return name == "loss" or name.startswith("loss/") or name == "val/loss"


def _is_error(name: str) -> bool:
    """Whether this is a loss, or a metric of which less is better: a loss by another name."""
    return _is_loss(name) or (name.startswith(("train/", "val/")) and better(name) == LOWER)


def _is_gradient(name: str) -> bool:
    return name.startswith(("grad_norm", "update_ratio", "param_norm"))


def _is_fatal(one: Bad, every: EverySeries, total: str) -> bool:
    """Whether a series is lost to the end, and the model with it as far as the curves tell."""
    name = one.series.name
    if not one.lasting:
        return False
    if one.seen.pattern is Pattern.ALL:
        # A column that never held a number was never measured, unless it is the loss of the run itself, or
        # all there is of it.
        if name == total:
            return not (_finite_losses(every) and not _bad_terms(every))
        return _is_loss(name) and _no_loss_was_ever_a_number(every)
    if _is_error(name):
        return True
    if _is_gradient(name):
        return one.seen.longest >= LONG
    return _is_lost(one, every, total)


def _no_loss_was_ever_a_number(every: EverySeries) -> bool:
    """Whether no loss of any name holds a number, over so many lines that it is no accident."""
    losses = [name for name in every.series if _is_loss(name) or name.startswith("val/loss/")]
    long = any(len(every.series[name]) >= FEW for name in losses)
    return long and all(every.bad(name).pattern is Pattern.ALL for name in losses)


def _is_lost(one: Bad, every: EverySeries, total: str) -> bool:
    """Whether a quantity that was a number is none to the end, and no loss says that the model is well."""
    last = one.series.values[one.seen.onset or 0 :]
    if np.isinf(last).all():
        return False  # an infinite score may be a perfect one
    if one.series.name.startswith("val/"):
        return len(last) >= FEW and one.seen.count == len(last)
    well = total in every.series and every.bad(total).pattern is Pattern.NONE
    return len(last) >= LONG and one.seen.count == len(last) and not well


def _order(one: Bad) -> tuple[int, int]:
    """Earliest first; at the same step the single term explains the total, and the total the gradients."""
    name = one.series.name
    if name.startswith(("loss/", "train/")):
        return one.step, 0
    return one.step, 1 if name == "loss" else 2 if _is_gradient(name) else 3


def _lasting(
    fatal: list[Bad],
    every: EverySeries,
    disguised: bool,
    precision: MixedPrecision,
    skipped: SkippedSteps | None,
) -> Finding:
    first = fatal[0]
    name, values = first.series.name, first.series.values
    onset = first.seen.onset or 0
    lone = _lone_term(fatal, every)
    others = [one.series.name for one in fatal[1:]]
    message = f"{name} is {_spelled(values[onset])} from step {first.step:,} to the end"
    message += f" ({len(values) - onset:,} of {len(values):,} values)"
    if lone:
        message += "; the other loss terms stay finite"
    elif others:
        message += f"; then {', '.join(others[:3])}"
    if _skipped_by(first, skipped) == GUARD:
        message += f"; {SKIPPED[GUARD]}"
    return Finding(
        tuple(one.series.where(one.step, int(one.series.steps[-1])) for one in fatal[:4]),
        message,
        {
            "series": name,
            "first_bad_step": first.step,
            "count": first.seen.count,
            "pattern": "permanent",
            "only_component": lone,
            "first_component": lone or _first_term(fatal),
            "from_the_start": bool(first.seen.pattern is Pattern.ALL),
            "grew": _grew(first, every),
            "downwards": _went_down(every, first.step),
            "high_rate": _is_fast(every, first.step),
            "scaler_logged": precision.scaled,
            "huge_finite": first.seen.huge,
            "disguised": disguised,
            "also": ", ".join(others),
            "finite_until_end": ", ".join(_finite_losses(every)[:6]),
        },
        onset=first.step,
        severity=Severity.CRITICAL if _is_the_model(fatal) else Severity.WARNING,
    )


def _grew(first: Bad, every: EverySeries) -> bool:
    """Whether the loss or the gradients stood far above their best when the last numbers were logged."""
    watched = (every.series.get(name) for name in (first.series.name, "loss", "grad_norm"))
    return any(series is not None and _has_grown(series, first.step) for series in watched)


def _is_fast(every: EverySeries, until: int) -> bool:
    """Whether the rate was one that hardly any network gets along with when the last numbers were logged."""
    rate = every.series.get("lr")
    values = rate.values[(rate.steps <= until) & np.isfinite(rate.values)] if rate is not None else ()
    return len(values) > 0 and float(np.max(values)) >= HIGH


def _went_down(every: EverySeries, until: int) -> bool:
    """Whether the loss fell far below zero and ever faster before it was lost, as what is maximised does.

    A likelihood falls below zero as well, and slows down on its way.
    """
    loss = every.series.get("loss")
    values = loss.values[(loss.steps < until) & np.isfinite(loss.values)] if loss is not None else np.empty(0)
    if len(values) < FEW_BEFORE:
        return False
    early, middle, late = (float(np.median(part)) for part in np.array_split(values, 3))
    return bool(np.all(values[-2:] < -GROWN * abs(float(values[0]))) and middle - late >= early - middle)


def _has_grown(series: Series, until: int) -> bool:
    """Whether the last numbers before a step are far above those before, more than one of them."""
    values = np.abs(series.values[(series.steps < until) & np.isfinite(series.values)])
    if len(values) < FEW_BEFORE:
        return False
    lowest = float(np.sort(values)[: max(1, len(values) // 2)].max())
    return bool(np.all(values[-2:] > GROWN * max(lowest, float(values[0]))))


def _is_the_model(fatal: list[Bad]) -> bool:
    names = [one.series.name for one in fatal]
    return any(_is_error(name) or _is_gradient(name) for name in names)


def _lone_term(fatal: list[Bad], every: EverySeries) -> str:
    """The name of the one loss term that is bad, where other terms are logged and stay finite."""
    bad_terms = [one.series.name for one in fatal if one.series.name.startswith("loss/")]
    fine_terms = [name for name in _finite_losses(every) if name.startswith("loss/")]
    return bad_terms[0] if len(bad_terms) == 1 and fine_terms else ""


def _first_term(fatal: list[Bad]) -> str:
    """The one loss term that goes bad before the others do."""
    terms = [one for one in fatal if one.series.name.startswith("loss/")]
    earlier = len(terms) > 1 and terms[0].step < terms[1].step and terms[0].step == fatal[0].step
    return terms[0].series.name if earlier else ""


def _bad_terms(every: EverySeries) -> bool:
    return any(every.bad(name).count for name in every.series if name.startswith("loss/"))


def _finite_losses(every: EverySeries) -> list[str]:
    return [name for name in every.series if _is_loss(name) and every.bad(name).pattern is Pattern.NONE]


def _disguised(every: EverySeries) -> Finding | None:
    """A loss of exactly zero wherever the gradient norm is not a number."""
    loss, grads = every.series.get("loss"), every.series.get("grad_norm")
    if loss is None or grads is None:
        return None
    steps = _in_both(loss.steps[loss.values == 0.0], grads.steps[~np.isfinite(grads.values)])
    if len(steps) < DISGUISED:
        return None
    first, count = int(steps[0]), len(steps)
    return Finding(
        (loss.where(first, int(steps[-1])), grads.where(first, int(steps[-1]))),
        f"loss is exactly 0.0 at {count:,} logged steps from step {first:,} where the gradient norm is NaN: "
        "a NaN loss in disguise",
        {
            "series": "loss",
            "first_bad_step": first,
            "count": count,
            "pattern": "sporadic",
            "disguised": True,
            "from_the_start": count == len(loss),
        },
        onset=first,
    )


def _said(announcements: Announcements | None, precision: MixedPrecision) -> Finding | None:
    """The trainer's own word that the loss was not finite, where no curve shows it."""
    said = announcements.of(EventKind.NON_FINITE) if announcements else ()
    if not said:
        return None
    first = said[0]
    return Finding(
        Where(first.file, line=first.line),
        f"the trainer reported a non-finite value: {first.message.strip()[:120]}",
        {
            "series": "",
            "count": len(said),
            "pattern": "message",
            "first_bad_step": first.step or 0,
            "scaler_logged": precision.scaled,
        },
        onset=first.step,
        strength=0.8,
    )


def _lost(bad: list[Bad], skipped: SkippedSteps | None) -> Iterator[Finding]:
    """Values lost along the way, at most one note for losses and one for the rest."""
    losses = [one for one in bad if _is_loss(one.series.name) and one.seen.pattern is Pattern.SPORADIC]
    if losses:
        yield _sporadic(min(losses, key=_order), skipped)
    gradients = [one for one in bad if _is_gradient(one.series.name) and one.share > OFTEN]
    if gradients:
        yield _sporadic(min(gradients, key=_order), skipped)
    metrics = [one for one in bad if one.series.name.startswith("val/") and not _may_be_undefined(one)]
    if metrics and not losses:
        yield _sporadic(min(metrics, key=_order), skipped)


def _may_be_undefined(one: Bad) -> bool:
    only_infinite = not np.isnan(one.series.values).any()
    return one.seen.pattern is Pattern.HOLES or _is_loss(one.series.name) or only_infinite


def _sporadic(one: Bad, skipped: SkippedSteps | None) -> Finding:
    name = one.series.name
    by = _skipped_by(one, skipped)
    explained = by is not None
    serious = _is_loss(name) and not explained and one.share > OFTEN and one.seen.longest >= LONG
    # Where so many steps had no gradient, most of what was meant to be trained was not.
    serious |= _is_gradient(name) and not explained and one.share > MUCH and one.seen.count >= LONG
    lost = f"{one.seen.count:,} of {len(one.series):,} logged steps"
    message = f"{name} is not finite at {lost} and recovers each time"
    if by is not None:
        message += f"; {SKIPPED[by]}"
    return Finding(
        one.series.where(one.step, one.step),
        message,
        {
            "series": name,
            "first_bad_step": one.step,
            "count": one.seen.count,
            "pattern": "sporadic",
            "longest": one.seen.longest,
            "skipped_by_scaler": by == SCALER,
            "skipped_by_guard": by == GUARD,
        },
        strength=min(1.0, 0.3 + one.share),
        onset=one.step,
        severity=Severity.WARNING if serious else Severity.NOTE,
    )


def _skipped_by(one: Bad, skipped: SkippedSteps | None) -> str | None:
    """Who skipped the steps that most bad values stand at, or are one logging interval away from."""
    if skipped is None or len(skipped.steps) == 0:
        return None
    steps = one.series.steps[~np.isfinite(one.series.values)]
    if len(steps) == 0:
        return None
    reach = max(1, one.series.cadence())
    after = np.searchsorted(skipped.steps, steps - reach)
    near = skipped.steps[np.minimum(after, len(skipped.steps) - 1)]
    return skipped.by if np.mean(np.abs(near - steps) <= reach) > 0.5 else None


def _spelled(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "infinite"
    return f"{value:.3g}"
