"""Whether two logs tell one story twice, and how the steps of one become those of the other.

    train.log                 iter 10: loss 3.2451          the same values, counted from 1,
    events.out.tfevents.1     loss at step 9: 3.24513       and from 0;
    stdout                    micro-step 40: loss 3.2451    or four micro-steps to a step

Logs of different formats that cover the same steps with nearly the same values are one run, too: one of them
prints means. So are two of one format in one folder that each hold columns of their own, as `steps.csv` and
`epochs.csv` do: a run that was started again writes the columns that it wrote before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from stethoscope.run import Log, Series

Told = Mapping[str, Series]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

SAME_VALUE = 0.02  # relative; one file may print fewer digits than the other
SAME_STORY = 0.9  # share of the common steps whose values must agree
OVERLAP = 0.5  # share of the shorter series' steps that both must hold
FEWEST_COMMON = 3  # points; two that agree may be chance
FAR_APART = 0.5  # relative; means over different windows lie closer than this
COMPARED = 64  # steps at which two logs are held against each other where they share none
MOST_TO_A_STEP = 65_536  # micro-steps or samples; more is another counter altogether
NEARLY_WHOLE = 0.05  # relative; the last step of one counter is seldom logged in both
AS_PRINTED = 1e-3  # relative; beyond the rounding of printed numbers: halves and sums in another order
SURE = 8  # points that agree as printed; of fewer, two runs may share most by chance
SAMPLED = 64  # values whose digits are counted
MOST_MISSED = 64  # first points that one of two logs may lack
# Equal at a step of any run with the same settings, or never equal.
NOT_TELLING = ("epoch", "lr", "step_time", "data_time", "throughput", "runtime", "mem", "mfu")


@dataclass(frozen=True, slots=True)
class Counting:
    """A step of the one log is `times` the other's, and `shift` more."""

    times: int = 1
    shift: int = 0

    @property
    def same(self) -> bool:
        """Whether both count alike."""
        return self == Counting()

    def of_the_other(self, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Steps of the one log as the other counts them."""
        counted: npt.NDArray[np.int64] = (steps - self.shift) // self.times
        return counted


def told_by(log: Log) -> dict[str, Series]:
    """The series of a log that have a value, by their names."""
    return {series.name: series for series in log.series if len(series)}


def tell_the_same(one: Log, other: Log) -> bool:
    """Whether two logs are two tellings of one story, whose common values count once."""
    mine, theirs = told_by(one), told_by(other)
    if counting_between(mine, theirs) or counting_between(theirs, mine) or same_rows(mine, theirs):
        return True
    return may_be_of_one_time(one, other) and lie_near(mine, theirs)


def may_be_of_one_time(one: Log, other: Log) -> bool:
    """Whether two programs may have told a story while it happened; one format is mostly a second run."""
    if one.format == other.format and not _share_the_columns(one, other):
        return False
    return not _apart_in_time(one, other)


def _share_the_columns(one: Log, other: Log) -> bool:
    """Whether two logs lie side by side and each holds what the other does not."""
    if PurePath(one.file).parent != PurePath(other.file).parent:
        return False
    mine, theirs = set(told_by(one)), set(told_by(other))
    return bool(mine - theirs) and bool(theirs - mine)


def _apart_in_time(one: Log, other: Log) -> bool:
    mine, theirs = _times(one), _times(other)
    return bool(mine and theirs and (mine[1] < theirs[0] or theirs[1] < mine[0]))


def _times(log: Log) -> tuple[float, float] | None:
    """When a log began and was last written; None where either is not known."""
    if log.started is None or log.last_written is None:
        return None
    return log.started, log.last_written


def counting_between(one: Told, other: Told) -> Counting | None:
    """How `one` counts the steps of `other`, where both hold the same values; None where they do not."""
    shared = [n for n in one.keys() & other.keys() if min(len(one[n]), len(other[n])) >= FEWEST_COMMON]
    telling = [name for name in shared if not name.startswith(NOT_TELLING)] or shared
    if not telling:
        return None
    main = max(telling, key=lambda name: (name == "loss", min(len(one[name]), len(other[name])), name))
    for counting in _candidates(one[main], other[main]):
        agreeing = sum(_agree(one[name], other[name], counting) for name in telling)
        if 2 * agreeing > len(telling):
            return counting
    return None


def _candidates(one: Series, other: Series) -> Iterator[Counting]:
    """Alike first; then from another first number; then several of one to a step of the other."""
    yield Counting()
    if one.axis != other.axis:
        return
    spans = int(np.ptp(one.steps)), int(np.ptp(other.steps))
    furthest = 2 * max(one.cadence(), other.cadence(), 1)
    ends = {int(one.steps[0]) - int(other.steps[0]), int(one.steps[-1]) - int(other.steps[-1]), 1, -1} - {0}
    yield from (Counting(1, shift) for shift in sorted(ends, key=abs) if abs(shift) <= furthest)
    if min(spans) == 0:
        return
    times = round(spans[0] / spans[1])
    if 2 <= times <= MOST_TO_A_STEP and abs(spans[0] / spans[1] - times) <= NEARLY_WHOLE * times:
        first = int(one.steps[0]) - times * int(other.steps[0])
        shifts = dict.fromkeys((first, 0, times - 1, 1 - times, 1, -1))
        yield from (Counting(times, shift) for shift in shifts if abs(shift) <= 2 * times)


def _agree(one: Series, other: Series, counting: Counting) -> bool:
    if one.axis != other.axis:
        return False
    counted = other.steps * counting.times + counting.shift
    if one.steps.min() > counted.max() or counted.min() > one.steps.max():
        return False
    mine, theirs = _common(one.steps, counted)
    if len(mine) < max(OVERLAP * min(len(one), len(other)), FEWEST_COMMON):
        return False
    x, y = one.values[mine], other.values[theirs]
    if not counting.same and len(np.unique(x[np.isfinite(x)])) < FEWEST_COMMON:
        return False  # a constant agrees with itself wherever it is shifted
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(x - y) <= SAME_VALUE * np.maximum(np.abs(x), np.abs(y))
    equal = (x == y) | close | (np.isnan(x) & np.isnan(y))
    return bool(equal.mean() >= SAME_STORY)


def _common(one: Indices, other: Indices) -> tuple[Indices, Indices]:
    """Where both hold the same steps; a step told twice, as bars do, counts as it was told last."""
    _, mine, theirs = np.intersect1d(one[::-1], other[::-1], return_indices=True)
    return len(one) - 1 - mine, len(other) - 1 - theirs


def agree(one: Series, other: Series) -> bool:
    """Whether two series of the same count hold the same values at most of the steps of the shorter."""
    return _agree(one, other, Counting())


# --- as exactly as numbers are printed --------------------------------------------------------------


def digits(values: Values) -> int:
    """How many digits the values have that tell something: 0.2290 has three."""
    found = values[np.isfinite(values)]
    sample = found[:: max(1, len(found) // SAMPLED)]
    return int(np.median([_digits(value) for value in sample.tolist()])) if len(sample) else 0


def _digits(value: float) -> int:
    """The digits that the number was made from: half of those of a single in a double are no knowledge."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    shortest = np.format_float_scientific(single if float(single) == value else value, trim="-")
    return len(shortest.lstrip("-").partition("e")[0].replace(".", ""))


def same_as_printed(one: Values, other: Values) -> Mask:
    """Which values are the same number, printed with more or fewer digits."""
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.maximum(_rounding(one), _rounding(other))
        close = np.abs(one - other) <= room + AS_PRINTED * np.maximum(np.abs(one), np.abs(other))
    same: Mask = (one == other) | close | (np.isnan(one) & np.isnan(other))
    return same


def _rounding(values: Values) -> Values:
    """The last digit that each value may have been printed with: of so many places, or so many in all."""
    found = values[np.isfinite(values) & (values != 0)]
    if not len(found):
        return np.zeros_like(values)
    sample = found[:: max(1, len(found) // SAMPLED)]
    heights = np.floor(np.log10(np.abs(sample)))
    in_all = np.array([_digits(value) for value in sample.tolist()])
    places = float((in_all - 1 - heights).max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        height = np.floor(np.log10(np.abs(values)))
        last = np.maximum(10.0**-places, 10.0 ** (height - in_all.max() + 1))
    return np.where(np.isfinite(last), last, 0.0)


def surely_the_same(one: Series, other: Series) -> bool:
    """Whether two series are one, digit for digit, at their common steps; in their order where rows count."""
    if len(one) < SURE or len(other) < SURE:
        return False
    if one.axis == other.axis != "row":
        mine, theirs = _common(one.steps, other.steps)
        enough = len(mine) >= max(SURE, OVERLAP * min(len(one), len(other)))
        return enough and _are_the_same(one.values[mine], other.values[theirs])
    if "row" in (one.axis, other.axis):
        return _same_in_order(one.values, other.values)
    return False


def same_rows(one: Told, other: Told) -> bool:
    """Whether one log counts rows where the other knows the steps, and the values are the same."""
    mine, theirs = one.get("loss"), other.get("loss")
    if mine is None or theirs is None or "row" not in (mine.axis, theirs.axis):
        return False
    return surely_the_same(mine, theirs)


def _same_in_order(one: Values, other: Values) -> bool:
    """Whether the shorter list of values stands in the longer; one may have begun to listen later."""
    short, long = sorted((one, other), key=len)
    missed = range(min(len(long) - len(short), MOST_MISSED) + 1)
    return any(_are_the_same(short, long[first : first + len(short)]) for first in missed)


def _are_the_same(one: Values, other: Values) -> bool:
    if len(np.unique(one[np.isfinite(one)])) < SURE // 2:
        return False  # what hardly changes is the same in any run
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(one - other) > FAR_APART * np.abs(one)
    if apart.mean() > 1 - SAME_STORY:
        return False  # most pairs part here, before any digits are counted
    return bool(same_as_printed(one, other).mean() >= SAME_STORY)


# --- as nearly as averages lie ----------------------------------------------------------------------


def lie_near(one: Told, other: Told) -> bool:
    """Whether two logs cover the same steps and their losses lie so near that averaging explains it."""
    names = [n for n in one.keys() & other.keys() if n == "loss" or n.startswith(("val/", "train/", "loss/"))]
    return any(distance is not None and distance <= FAR_APART for distance in _distances(one, other, names))


def lie_far_apart(one: Told, other: Told) -> bool:
    """Whether the losses of two logs are so different that no way of averaging explains it."""
    names = ["loss"] if "loss" in one and "loss" in other else []
    return any(distance is not None and distance > FAR_APART for distance in _distances(one, other, names))


def _distances(one: Told, other: Told, names: list[str]) -> Iterator[float | None]:
    return (_distance(one[name], other[name]) for name in names)


def _distance(one: Series, other: Series) -> float | None:
    """The usual relative distance of two curves over their common steps; None where they have few."""
    if one.axis != other.axis:
        return None
    one, other = one.finite(), other.finite()
    if min(len(one), len(other)) <= FEWEST_COMMON or not share_steps(one, other):
        return None
    first = max(one.steps.min(), other.steps.min())
    last = min(one.steps.max(), other.steps.max())
    x, y = (_at(curve, np.linspace(first, last, COMPARED)) for curve in (one, other))
    scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-300)
    return float(np.median(np.abs(x - y) / scale))


def _at(curve: Series, steps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    order = np.argsort(curve.steps, kind="stable")
    return np.interp(steps, curve.steps[order], curve.values[order])


def share_steps(one: Series, other: Series) -> bool:
    """Whether most of the shorter range of steps is in both; a resumed run overlaps by less."""
    first = max(one.steps.min(), other.steps.min())
    last = min(one.steps.max(), other.steps.max())
    shorter = min(np.ptp(one.steps), np.ptp(other.steps))
    return bool(last - first > OVERLAP * shorter)
