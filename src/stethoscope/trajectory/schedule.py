"""The learning rate that is to come: as it was logged, or as the settings ask for it.

A schedule is computed, so its values are exact, give or take what was printed. One that waits for a metric to
stop improving cannot be known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from stethoscope.run import Run, Series, Setting, Steps, Values
from stethoscope.signals import training_plan
from stethoscope.signals.missing import Missing
from stethoscope.trajectory.trajectory import Held, Row, Side

LOG_THIS = 'log({"lr": optimizer.param_groups[0]["lr"]})'
TOLERANCE = 0.02  # of the rate, by which a printed value may be off
LEAST_TOLERANCE = 0.002  # of the highest rate
ASKED_TOLERANCE = 0.05  # where only the settings tell: schedules count their first step differently
STRAIGHT = 0.004  # of the highest rate: how far a line between named steps may lie from the schedule
MOST_ROWS = 60
TURNS_TOO_OFTEN = f"it turns too often to be named in {MOST_ROWS} steps"
ALIKE = 0.02  # relative: schedules of two runs that differ by more are not the same schedule
FLOORS = ("min_lr", "eta_min", "lr_min", "min_learning_rate", "end_lr", "final_lr", "lr_end")
WAITS = ("plateau", "reducelronplateau", "prodigy", "dadapt", "d_adapt", "schedulefree", "adafactor")


def logged(series: Sequence[Series], run: Run) -> Held | str:
    """The schedule that these runs logged, or why it cannot be the next one's."""
    waits = _waits(run)
    if waits is not None:
        return f"{waits.dotted} is {waits.value}: the rate depends on how the training goes"
    runs = [one.finite() for one in series if len(one.finite()) >= 2]
    if not runs:
        return "fewer than 2 values were logged"
    longest = max(runs, key=lambda one: int(one.steps[-1]))
    if any(not _alike(one, longest) for one in runs):
        return "the runs follow different schedules"
    rows = _rows(longest.steps, longest.values, TOLERANCE)
    if not rows:
        return TURNS_TOO_OFTEN
    names = longest.file or "the log"
    return Held(
        longest.name,
        rows,
        Side.BOTH,
        exact=True,
        unit=longest.axis,
        source=f"as logged in {names}",
        log_this=LOG_THIS,
    )


def computed(series: Series) -> Held | str:
    """Another quantity that is a function of the step, such as a difficulty."""
    finite = series.finite()
    rows = _rows(finite.steps, finite.values, TOLERANCE)
    if not rows:
        return TURNS_TOO_OFTEN
    source = f"as logged in {series.file or 'the log'}"
    return Held(series.name, rows, Side.BOTH, exact=True, unit=series.axis, source=source)


def asked(run: Run) -> Held | str:
    """The schedule that the settings ask for, where they say all of it in steps."""
    plan = training_plan.measure(run)
    if isinstance(plan, Missing):
        return plan.why
    waits = _waits(run)
    if waits is not None:
        return f"{waits.dotted} is {waits.value}: the rate depends on how the training goes"
    peak, kind = plan["learning rate"].only(), _kind(plan)
    if peak is None or not peak.amount.number:
        return "the settings name no single learning rate"
    if plan["learning rate"].differs is not None:
        return "the source has another learning rate than the settings"
    if kind is None:
        return "the settings do not say plainly which schedule the learning rate follows"
    steps = plan.extent.steps
    if steps is None:
        return "nothing says how many steps the run has"
    warm = _warm_up(plan, steps)
    decay = plan["decay length"].only()
    if warm is None or (
        decay is not None and not _covers(decay.amount.number, decay.amount.unit, steps, warm)
    ):
        return "the lengths of its warm-up and its decay are not all given in steps of the run"
    low = _floor(run)
    if kind != "constant" and low is None:
        return "nothing says how low the learning rate ends"
    return _asked_for(
        kind, float(peak.amount.number), low or 0.0, warm, round(steps), str(peak.setting.where)
    )


def schedule_of(held: Held | None, last: int) -> tuple[Steps, Values] | None:
    """The rates of an exact signal up to a step, as steps and values; None where it does not reach so far."""
    if held is None or held.unit != "step" or held.last < last:
        return None
    named = [(row.step, row.expected) for row in held.rows if row.expected is not None]
    if len(named) < 2 or max(value for _, value in named) <= 0.0:
        return None
    steps, values = zip(*named, strict=True)
    return np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64)


def turns(held: Held) -> tuple[int, ...]:
    """The steps at which a schedule turns: the end of a warm-up, milestones, the beginning of a decay."""
    named = [(row.step, row.expected) for row in held.rows if row.expected is not None]
    if len(named) < 3:
        return ()
    steps, values = (np.array(one, dtype=np.float64) for one in zip(*named, strict=True))
    slopes = np.diff(values) / np.maximum(np.diff(steps), 1.0)
    unit = float(np.abs(values).max()) / max(float(steps[-1] - steps[0]), 1.0)
    bent = np.abs(np.diff(slopes)) > 2.0 * unit
    return tuple(int(step) for step in steps[1:-1][bent])


# --- as logged


def _rows(steps: Steps, values: Values, tolerance: float) -> tuple[Row, ...]:
    """As few rows as keep straight lines close to the schedule; none where many would be needed."""
    kept = _corners(steps.astype(np.float64), values, STRAIGHT * float(np.abs(values).max()))
    if len(kept) >= MOST_ROWS:
        return ()
    least = LEAST_TOLERANCE * float(np.abs(values).max())
    return tuple(_row(int(steps[at]), float(values[at]), tolerance, least) for at in kept)


def _row(step: int, value: float, tolerance: float, least: float) -> Row:
    off = max(tolerance * abs(value), least + STRAIGHT * abs(least) / LEAST_TOLERANCE)
    # A side below zero is kept: cut off, the line to its neighbour would rise above the schedule.
    return Row(step, value - off, value, value + off)


def _corners(x: Values, y: Values, close: float) -> list[int]:
    """The positions between which straight lines stay close to all points, the furthest ones first."""
    kept = [0, len(x) - 1]
    while len(kept) < MOST_ROWS:
        line = np.interp(x, x[kept], y[kept])
        off = np.abs(y - line)
        at = int(np.argmax(off))
        if off[at] <= close:
            break
        kept = sorted({*kept, at})
    return sorted(set(kept))


def _alike(one: Series, other: Series) -> bool:
    within = one.between(int(other.steps[0]), int(other.steps[-1]))
    if not len(within):
        return False
    line = np.interp(within.steps.astype(np.float64), other.steps.astype(np.float64), other.values)
    off = np.abs(within.values - line) > ALIKE * max(float(np.abs(other.values).max()), 1e-300)
    return float(off.mean()) <= 0.05  # a milestone falls between two logged steps


def _waits(run: Run) -> Setting | None:
    """A setting that asks for a rate that nobody can know beforehand."""
    for setting in run.recipe or ():
        if isinstance(setting.value, str) and any(word in setting.value.lower() for word in WAITS):
            return setting
    return None


# --- as asked for


def _kind(plan: training_plan.TrainingPlan) -> str | None:
    words = {str(one.amount.value).lower() for one in plan["schedule"].asked}
    if not words or len(words) > 1:
        return None
    word = words.pop()
    if any(other in word for other in ("restart", "cycl", "poly", "step", "exp", "wsd", "lambda", "inverse")):
        return None
    return next((kind for kind in ("cosine", "linear", "constant") if kind in word), None)


def _warm_up(plan: training_plan.TrainingPlan, steps: float) -> float | None:
    asked_for = plan["warm-up"]
    if not asked_for.asked:
        return 0.0
    only = asked_for.only()
    if only is None or only.amount.number is None:
        return None
    if only.amount.unit == "share":
        return only.amount.number * steps
    return only.amount.number if only.amount.unit in {"step", ""} else None


def _covers(number: float | None, unit: str, steps: float, warm: float) -> bool:
    if number is None or unit not in {"step", ""}:
        return False
    return any(abs(number - length) <= 0.01 * steps for length in (steps, steps - warm))


def _floor(run: Run) -> float | None:
    found = {
        float(setting.value)
        for setting in (run.recipe.named(*FLOORS) if run.recipe else ())
        if isinstance(setting.value, int | float) and not isinstance(setting.value, bool)
    }
    return found.pop() if len(found) == 1 else 0.0 if not found else None


def _asked_for(kind: str, peak: float, low: float, warm: float, steps: int, where: str) -> Held:
    shapes: dict[str, Callable[[float], float]] = {
        "constant": lambda share: peak,
        "linear": lambda share: low + (peak - low) * (1.0 - share),
        "cosine": lambda share: low + (peak - low) * 0.5 * (1.0 + math.cos(math.pi * share)),
    }
    rows = [Row(0, 0.0, None, peak * (1.0 + ASKED_TOLERANCE))] if warm > 1 else []
    first = min(round(warm), steps)
    for share in np.linspace(0.0, 1.0, 2 if kind == "constant" else 13):
        value = shapes[kind](float(share))
        off = ASKED_TOLERANCE * peak
        rows.append(Row(first + round(share * (steps - first)), value - off, value, value + off))
    return Held("lr", _once(rows), Side.BOTH, exact=True, source=f"asked for in {where}", log_this=LOG_THIS)


def _once(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple({row.step: row for row in rows}.values())
