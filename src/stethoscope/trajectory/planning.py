"""plan: what the next run is held to, from healthy runs, the healthy part of a run, or its recipe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import numpy as np

from stethoscope.detectors.distributions import t_quantile
from stethoscope.detectors.scaler import SEARCH_STEPS
from stethoscope.run import Run, Series
from stethoscope.run.names import better
from stethoscope.signals import (
    baseline,
    curriculum,
    grad_norm,
    loss,
    loss_scale,
    starting_point,
    training_plan,
    validation,
    warm_up,
)
from stethoscope.signals.missing import Missing
from stethoscope.trajectory import schedule
from stethoscope.trajectory.forecast.prediction import forecast
from stethoscope.trajectory.reference import band_of, usual_spread
from stethoscope.trajectory.trajectory import (
    CONFIDENCE,
    Condition,
    Held,
    Look,
    Phase,
    Row,
    Scale,
    Trajectory,
    WarningSign,
)

AHEAD = 6  # steps at which a forecast is written
WIDEST = 0.5  # a logarithm, or of the range so far: the error of a forecast that says hardly anything
MOST_SIGNALS = 12  # bands: more than a person would look at cost every one of them its sharpness
LOOKS = 20  # in the whole run
START_MARGIN = 1.25  # times the loss of guessing that a fresh model may begin at
ABOVE_START = 1.1  # times the highest level that is expected at the start
LASTING = 0.03  # of the run: a spike that is over by then is only a spike
NEAR_GUESSING = 0.3  # of the loss of guessing: a first value this near shows that it is a cross-entropy
LONG_ENOUGH = 0.95  # of its length: a run that came so far is whole


@dataclass(frozen=True, slots=True, eq=False)
class Basis:
    """What a trajectory is planned from.

    `run` gives the recipe. `healthy` are runs that went well; without any, `run` itself is one up to the step
    `until` (None for all of it). `doubted` are signals that were themselves at fault; `nothing_healthy` says
    that no part of the run can be trusted.
    """

    run: Run
    healthy: Sequence[Run] = ()
    until: int | None = None
    doubted: AbstractSet[str] = frozenset()
    nothing_healthy: str = ""


@dataclass(slots=True)
class _Draft:
    signals: list[Held] = field(default_factory=list)
    unforecast: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, made: Held | str) -> Held | None:
        """Keep a signal, or why there is none."""
        if isinstance(made, str):
            self.unforecast[name] = made
            return None
        self.signals.append(made)
        return made


def plan(basis: Basis) -> Trajectory:
    """Everything that can be said beforehand about a healthy run of this recipe."""
    draft = _Draft()
    length = _length(basis)
    rates = _rates(basis, draft)
    _difficulty(basis, draft)
    for name, series in _progress(basis, draft).items():
        draft.take(name, _band(name, series, basis, length, rates))
    phases = tuple(_phases(basis))
    signs = tuple(_signs(basis, draft, phases, length))
    look = _look(rates, phases, length)
    return Trajectory(
        basis.run.name,
        length,
        phases=phases,
        signals=tuple(draft.signals),
        signs=signs,
        look=look,
        unforecast=draft.unforecast,
    )


def _sources(basis: Basis) -> tuple[Run, ...]:
    """The runs whose curves are healthy."""
    if basis.healthy:
        return tuple(basis.healthy)
    return () if basis.nothing_healthy else (basis.run,)


def _length(basis: Basis) -> int | None:
    """The steps of the whole run: as planned, else as long as the healthy runs are."""
    planned = training_plan.measure(basis.run)
    if not isinstance(planned, Missing) and planned.extent.steps:
        return round(planned.extent.steps)
    announced = [log.total_steps for log in basis.run.logs if log.total_steps]
    if announced:
        return max(announced)
    seen = [run.steps[1] for run in (*basis.healthy, basis.run) if run.steps is not None]
    return seen[0] if seen else None


# --- what is computed


def _rates(basis: Basis, draft: _Draft) -> Held | None:
    """The learning rate: as logged by runs of which it is not in doubt, else as asked for."""
    runs = basis.healthy or ((basis.run,) if "lr" not in basis.doubted else ())
    series = [run.series["lr"] for run in runs if "lr" in run.series and len(run.series["lr"])]
    made = schedule.logged(series, basis.run) if series else schedule.asked(basis.run)
    return draft.take("lr", made)


def _difficulty(basis: Basis, draft: _Draft) -> None:
    for run in _sources(basis):
        made = curriculum.measure(run)
        if not isinstance(made, Missing) and made.difficulty is not None and len(made.difficulty) > 1:
            if not np.all(np.diff(made.difficulty.values) >= 0.0):
                draft.unforecast["difficulty"] = (
                    "it does not only rise, so it is no function of the step alone"
                )
                return
            draft.take("difficulty", schedule.computed(made.difficulty))
            return


# --- what is measured


def _progress(basis: Basis, draft: _Draft) -> dict[str, list[Series]]:
    """The signals that tell whether a run goes well, with the curves of all healthy runs."""
    sources = _sources(basis)
    if not sources:
        draft.unforecast["loss"] = basis.nothing_healthy
        return {}
    found: dict[str, list[Series]] = {}
    for name in _telling(sources[0], draft):
        series = [run.series[name] for run in sources if name in run.series]
        if len(series) < len(sources):
            draft.unforecast[name] = "not all of the runs logged it"
            continue
        if name in basis.doubted and not basis.healthy and basis.until is None:
            draft.unforecast[name] = "it is itself among what was found"
            continue
        found[name] = [one if basis.until is None else one.select(one.steps < basis.until) for one in series]
    return found


def _telling(run: Run, draft: _Draft) -> Iterator[str]:
    """The loss, the metrics whose better side is known, and the norm of the gradient."""
    train = loss.measure(run)
    if isinstance(train, Missing):
        draft.unforecast["loss"] = train.why
    elif not train.measures_progress:
        kind = "part of it is a game" if train.adversarial else "the run learns from rewards"
        draft.unforecast[train.series.name] = f"{kind}, so its level does not tell progress"
    else:
        yield train.series.name
    metrics = validation.measure(run)
    judged = metrics.judged if isinstance(metrics, validation.Validation) else {}
    names = [*judged, *(name for name in run.series if name.startswith("train/") and better(name))]
    yield from names[: MOST_SIGNALS - 2]
    if "grad_norm" in run.series:
        yield "grad_norm"


def _band(
    name: str, series: Sequence[Series], basis: Basis, length: int | None, rates: Held | None
) -> Held | str:
    made = band_of(name, series, _spoken(basis, series), _log_this(name))
    if isinstance(made, str) or basis.healthy or length is None or made.unit != "step":
        return made
    if name == "grad_norm" or made.last >= LONG_ENOUGH * length:
        return made
    return _continued(made, series[0].finite(), length, rates)


def _continued(made: Held, known: Series, length: int, rates: Held | None) -> Held:
    """The band of what is known, and that of the forecast behind it where there is one."""
    ahead = np.unique(np.linspace(made.last, length, AHEAD + 1)[1:].astype(np.int64))
    relative = made.scale is Scale.LOG
    told = forecast(known.steps, known.values, ahead, relative, schedule.schedule_of(rates, length))
    if isinstance(told, str):
        return replace(made, source=f"{made.source}; no forecast beyond: {told}")
    heights = made.scaled(np.array([row.expected for row in made.rows], dtype=np.float64))
    useful = told.error <= WIDEST * (1.0 if relative else float(np.ptp(heights)))
    count = len(useful) if useful.all() else int(np.argmin(useful))
    if count == 0:
        return replace(
            made, source=f"{made.source}; no forecast beyond: its band would hold nearly everything"
        )
    spread = math.sqrt(2.0) * usual_spread(made.name, heights, made.scale)
    reach = t_quantile(0.5 + CONFIDENCE / 2.0, made.freedom or told.freedom)
    wide = reach * np.hypot(told.error, spread)
    rows = []
    for step, level, width in list(zip(ahead.tolist(), told.level, wide, strict=True))[:count]:
        sides = (float(level) - width, float(level), float(level) + width)
        low, middle, high = (math.exp(min(max(one, -705.0), 705.0)) if relative else one for one in sides)
        rows.append(Row(int(step), float(low), float(middle), float(high)))
    missed = f"which missed its back-test by {abs(told.missed):.1%}"
    said = f"from step {made.last:,} on a forecast by a {told.family}, {missed}"
    return replace(made, rows=(*made.rows, *rows), source=f"{made.source}; {said}")


def _spoken(basis: Basis, series: Sequence[Series]) -> str:
    if basis.healthy:
        return f"{len(series)} healthy run{'s' if len(series) > 1 else ''}"
    if basis.until is not None:
        return f"the run itself before step {basis.until:,}, where it was healthy"
    return "the run itself, which was healthy"


def _log_this(name: str) -> str:
    if name == "grad_norm":
        return grad_norm.LOG_THIS
    if name.startswith("val/"):
        return f'log({{"step": step, "{name}": evaluate(model, held_out)}})'
    return loss.LOG_THIS if name == "loss" else f'log({{"step": step, "{name}": value}})'


# --- phases, warning signs, when to look


def _phases(basis: Basis) -> Iterator[Phase]:
    warm = warm_up.measure(basis.healthy[0] if basis.healthy else basis.run)
    if not isinstance(warm, Missing) and warm.steps is not None and warm.steps >= 1.0:
        yield Phase("warm-up", 0, round(warm.steps), warm.said)
    planned = training_plan.measure(basis.run)
    if isinstance(planned, Missing):
        return
    for one in planned["curriculum"].asked:
        number = one.amount.number
        if one.amount.part == "length" and number and one.amount.unit in {"step", ""}:
            yield Phase("curriculum", 0, round(number), f"{one.name} is {number:g}")
            return


def _signs(basis: Basis, draft: _Draft, phases: Sequence[Phase], length: int | None) -> Iterator[WarningSign]:
    progress = next((held for held in draft.signals if held.name.split("/")[0] == "loss"), None)
    name = progress.name if progress is not None else _loss_name(basis)
    yield WarningSign(name, Condition.NOT_FINITE, why="a loss that is no number teaches nothing")
    yield from _at_the_start(basis, name, progress, length)
    if (
        progress is not None
        and progress.scale is Scale.LOG
        and not any(p.name == "curriculum" for p in phases)
    ):
        start, top = progress.rows[0], max(row.high or 0.0 for row in progress.rows[:2])
        settled = max((phase.last for phase in phases), default=0)
        first = max(settled, start.step + (progress.last - start.step) // 10)
        if first < progress.last:
            why = "the loss is higher than when training began"
            lasts = round(LASTING * (progress.last - start.step))
            yield WarningSign(name, Condition.ABOVE, ABOVE_START * top, lasts, why, first)
    if any("grad_norm" in run.series for run in (*basis.healthy, basis.run)):
        why = "gradients that stay infinite mean that no step is taken"
        yield WarningSign("grad_norm", Condition.NOT_FINITE, None, SEARCH_STEPS, why, SEARCH_STEPS)
    if any(not isinstance(loss_scale.measure(run), Missing) for run in (*basis.healthy, basis.run)):
        why = "a scale below 1 makes gradients smaller instead of larger"
        yield WarningSign("loss_scale", Condition.BELOW, 1.0, SEARCH_STEPS, why, SEARCH_STEPS)
        why = "overflows come faster than the scale can recover; its level alone means nothing"
        yield WarningSign("loss_scale", Condition.FALLING, why=why)


def _loss_name(basis: Basis) -> str:
    for run in (*basis.healthy, basis.run):
        found = loss.measure(run)
        if not isinstance(found, Missing):
            return found.series.name
    return "loss"


def _at_the_start(
    basis: Basis, name: str, progress: Held | None, length: int | None
) -> Iterator[WarningSign]:
    """What a model that knows nothing loses: it may begin there, and not far above."""
    guessing = baseline.measure(basis.run)
    if isinstance(guessing, Missing) or not starting_point.measure(basis.run).from_scratch:
        return
    chance, told = guessing.chance_loss, guessing.vocabulary or guessing.classes
    if chance is None or told is None:
        return
    first = progress.rows[0].expected if progress is not None else None
    if first is None and guessing.vocabulary is None:
        return  # classes may be those of a part of the loss only
    if first is not None and abs(first / chance - 1.0) > NEAR_GUESSING:
        return  # it is something else than a cross-entropy, or was averaged over many steps
    why = f"guessing costs {chance:.4g} ({told.dotted} is {told.value})"
    lasts = round(LASTING * (length or 0))
    yield WarningSign(name, Condition.ABOVE, START_MARGIN * max(chance, first or 0.0), lasts, why)


def _look(rates: Held | None, phases: Sequence[Phase], length: int | None) -> Look:
    if not length:
        return Look()
    ends = [phase.last for phase in phases] + list(schedule.turns(rates) if rates is not None else ())
    at = sorted({step for step in [length // 100, *ends] if 0 < step < length})
    return Look(tuple(at[:12]), max(1, _round(length / LOOKS)))


def _round(value: float) -> int:
    """A number of one digit that a person would choose."""
    if value < 1.0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(max((part for part in (1, 2, 5) if part * power <= value), default=1) * power)
