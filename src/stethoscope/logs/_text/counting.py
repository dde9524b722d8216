"""What the lines of a log count, worked out from all of its counters: steps, epochs, or nothing but rows.

Epoch 3 [ 640/60000]  loss ..     a position that begins again every epoch, counted on over the epochs
Epoch 3 done: val loss ..         a summary, at the step printed last before it
epoch 4 | train .. | val ..       epochs alone
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.rows import (
    Assembled,
    Places,
    Rows,
    add_rows,
    joined,
    steps_before,
    steps_behind,
    whole_numbers,
)

# Names of the columns that count; no logged name begins so.
STEP, EPOCH, BATCH, POSITION, LEAD, RANK = "\0step", "\0epoch", "\0batch", "\0position", "\0lead", "\0rank"
FOLD = "\0fold"  # of a cross-validation: each is a training that counts from the beginning
ALL = "/all"  # behind the name of a counter: what it counts up to
TIMES = "\0x"  # behind a name: the factor of a unit, as in 1.2k

MOSTLY = 0.9
FULL = 0.98  # of its total a counter must have reached, to begin again and not to have been set back
ROWS_PER_EPOCH = 4  # a line for training, validation and test each; with more, the epoch is no axis
FARTHEST = 2**61


@dataclass(frozen=True, slots=True)
class Counted:
    """The rows that tell a step, what a step is, which counter says so, and what a user should know."""

    at: Places
    lines: Places
    steps: Places
    axis: str
    source: str
    total: int | None = None
    notes: tuple[str, ...] = ()


def assembled(
    columns: Mapping[str, Rows], sources: Mapping[str, str], first_epoch: int | None = None
) -> Assembled:
    """Each signal over what the log counts; `sources` says how the log spells its counters.

    `first_epoch` is the number of a run's first epoch; None for the lowest one met.
    """
    columns, notes = _one_rank(_multiplied(columns))
    columns, said_of_folds = _folds_in_turn(columns)
    notes += said_of_folds
    signals = {name: rows for name, rows in columns.items() if not name.startswith("\0")}
    counted = counted_by(columns, signals, sources, first_epoch)
    points = Points()
    if counted is None:
        places = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(r.at for r in signals.values())]))
        for name, rows in signals.items():
            add_rows(points, name, rows, np.searchsorted(places, rows.at).astype(np.int64), "row")
        said = ("no line counts steps: rows are counted instead",) if signals else ()
        return Assembled(points, None, None, (*notes, *said))
    behind = _printed_behind(counted, signals)
    for name, rows in signals.items():
        place = steps_behind if behind else steps_before
        add_rows(points, name, rows, place(rows.at, counted.at, counted.steps), counted.axis)
    if counted.axis in {"step", "row"} and EPOCH in columns and "epoch" not in points.steps:
        epoch = columns[EPOCH]
        add_rows(points, "epoch", epoch, steps_before(epoch.at, counted.at, counted.steps), counted.axis)
    at_steps = (counted.lines, counted.steps) if counted.axis == "step" else None
    return Assembled(points, at_steps, counted.total, (*notes, *counted.notes))


def counted_by(
    columns: Mapping[str, Rows],
    signals: Mapping[str, Rows],
    sources: Mapping[str, str],
    first_epoch: int | None = None,
) -> Counted | None:
    """The counter to place the signals by; None where nothing counts."""
    epoch = _counter(columns, EPOCH)
    for name in (STEP, BATCH, POSITION):
        rows = _counter(columns, name)
        if rows is not None and len(rows) >= _needed(signals):
            begun = _begun(rows.at, columns.get(FOLD))
            found = _counted_on(
                rows, columns.get(name + ALL), epoch, sources.get(name, ""), first_epoch, begun
            )
            if found is not None:
                return found
    if epoch is not None:
        rows, steps = whole_numbers(epoch)
        distinct = len(np.unique(np.stack([steps, np.cumsum(_begun(rows.at, columns.get(FOLD)))]), axis=1).T)
        busiest = max((len(one) for one in signals.values()), default=0)
        if busiest <= ROWS_PER_EPOCH * distinct:
            total = columns.get(EPOCH + ALL)
            known = total is not None and len(total) > 0 and 0 < total.values[-1] < FARTHEST
            end = int(total.values[-1]) if known and total is not None else None
            return Counted(rows.at, rows.lines, steps, "epoch", sources.get(EPOCH, ""), end)
    if (fraction := _fractions(columns.get(EPOCH), signals)) is not None:
        row = np.arange(len(fraction), dtype=np.int64)
        said = "only fractions of epochs are counted: rows are counted instead"
        return Counted(fraction.at, fraction.lines, row, "row", sources.get(EPOCH, ""), None, (said,))
    lead = _counter(columns, LEAD)
    if lead is not None and len(lead) >= _needed(signals):
        rows, steps = whole_numbers(lead)
        if len(np.unique(steps)) > 1 and (np.diff(steps) >= 0).mean() >= MOSTLY:
            return Counted(rows.at, rows.lines, steps, "step", sources.get(LEAD, "the first number"))
    return None


def _fractions(epoch: Rows | None, signals: Mapping[str, Rows]) -> Rows | None:
    """The rows of an epoch that grows by fractions: `ep 0.05 loss 2.3`."""
    if (
        epoch is None
        or len(epoch) < 2
        or len(epoch) < _needed(signals)
        or not np.isfinite(epoch.values).all()
    ):
        return None
    whole = epoch.values == np.floor(epoch.values)
    grows = np.diff(epoch.values) >= 0
    return (
        epoch
        if whole.mean() < 0.5 and grows.mean() >= MOSTLY and epoch.values[-1] > epoch.values[0]
        else None
    )


def _needed(signals: Mapping[str, Rows]) -> float:
    """How many rows must count for a counter to be the log's and not that of something in between."""
    # Of the busiest signal; a loss is printed at least twice as often as what is worth no counting.
    return 0.3 * max((len(rows) for rows in signals.values()), default=0)


def _counter(columns: Mapping[str, Rows], name: str) -> Rows | None:
    """The rows of a counter that moves, or that is all there is."""
    rows = columns.get(name)
    if rows is None or len(rows) == 0:
        return None
    kept, steps = whole_numbers(rows)
    if len(kept) < MOSTLY * len(rows):
        return None
    return kept if len(steps) == 1 or (steps != steps[0]).any() or name == EPOCH else None


def _counted_on(
    rows: Rows,
    totals: Rows | None,
    epoch: Rows | None,
    source: str,
    first_epoch: int | None,
    begun: npt.NDArray[np.bool_],
) -> Counted | None:
    """A counter of steps, counted on over epochs where it begins again with each, and not over folds."""
    steps = rows.values.astype(np.int64)
    ends = _ends(rows, totals)
    falls = np.flatnonzero((np.diff(steps) < 0) & ~begun[1:])
    total = int(ends[-1]) if ends is not None and 0 < ends[-1] < FARTHEST else None
    plain = Counted(rows.at, rows.lines, steps, "step", source, total)
    epochs = None
    if epoch is not None:
        known, values = whole_numbers(epoch)
        if len(known):
            epochs = steps_before(rows.at, known.at, values)
    if len(falls) == 0:
        if epochs is None or epochs[0] == epochs[-1] or total is None:
            return plain if epochs is None or epochs[0] == epochs[-1] or _grows(steps) else None
        return plain
    if epochs is not None and ((np.diff(epochs)[falls] > 0).mean() >= MOSTLY):
        length = _length(steps, ends)
        first = int(epochs.min()) if first_epoch is None else min(first_epoch, int(epochs.min()))
        if (int(epochs.max()) - first) * length < FARTHEST:
            on = (epochs - first) * length + steps
            said = f"{source or 'the position'} begins again every epoch: counted on over epochs of {length}"
            return Counted(rows.at, rows.lines, on, "step", source, None, (said,))
    if ends is not None and (steps[falls] >= FULL * ends[falls]).mean() >= MOSTLY:
        again = (np.diff(steps) < 0) & ~begun[1:]
        passed = np.concatenate([[0], np.cumsum(np.where(again, ends[:-1], 0))])
        passed -= passed[np.maximum.accumulate(np.where(begun, np.arange(len(begun)), 0))]
        if int(passed.max()) < FARTHEST:
            said = f"{source or 'the position'} begins again at its end: counted on"
            return Counted(rows.at, rows.lines, steps + passed, "step", source, None, (said,))
    return plain


def _grows(steps: Places) -> bool:
    return bool(steps[-1] > steps[0])


def _ends(rows: Rows, totals: Rows | None) -> Places | None:
    """What the counter of each row counts up to."""
    if totals is None or len(totals) < MOSTLY * len(rows):
        return None
    known, values = whole_numbers(totals)
    return np.clip(steps_before(rows.at, known.at, values), 0, 2**40) if len(known) else None


def _length(steps: Places, ends: Places | None) -> int:
    """How many steps an epoch has: what the counter says, else the highest it reached and one interval."""
    reached = int(steps.max())
    if ends is not None and int(np.median(ends)) >= reached:
        return int(np.median(ends))
    gaps = np.diff(steps)
    interval = int(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1
    return reached + (interval if int(steps.min()) == 0 else 0) or 1


def _printed_behind(counted: Counted, signals: Mapping[str, Rows]) -> bool:
    """Whether the counter stands below its values: they begin before it and it has the last word."""
    busiest = max(signals.values(), key=len, default=None)
    if busiest is None or len(counted.at) < 2:
        return False
    same_line = np.isin(busiest.at, counted.at).any()
    return bool(not same_line and busiest.at[0] < counted.at[0] and busiest.at[-1] < counted.at[-1])


def _begun(at: Places, folds: Rows | None) -> npt.NDArray[np.bool_]:
    """Which of some places are the first of a fold behind another."""
    if folds is None or len(folds) == 0 or len(at) == 0:
        return np.zeros(len(at), dtype=np.bool_)
    own = folds.values[np.maximum(np.searchsorted(folds.at, at, side="right") - 1, 0)]
    return np.append(False, own[1:] != own[:-1])


def _folds_in_turn(columns: dict[str, Rows]) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """The columns of the first fold, where several are trained in turn; a note of folds one after another."""
    folds = columns.get(FOLD)
    told = np.unique(folds.values) if folds is not None else np.empty(0)
    if folds is None or len(told) < 2:
        return columns, ()
    changes = int((np.diff(folds.values) != 0).sum())
    if changes < 2 * len(told):
        said = f"{len(told)} folds of a cross-validation, one after another: each is a training of its own"
        return columns, (said,)
    first, kept = folds.values[0], {}
    for name, rows in columns.items():
        own = folds.values[np.maximum(np.searchsorted(folds.at, rows.at, side="right") - 1, 0)]
        if (own == first).any():
            kept[name] = rows.select(own == first)
    return kept, (f"{len(told)} folds are trained in turn: the lines of fold {first:g} are read",)


def _multiplied(columns: Mapping[str, Rows]) -> dict[str, Rows]:
    """Columns under their names, with the factor of a unit applied."""
    parts: dict[str, list[Rows]] = {}
    for name, rows in columns.items():
        bare, times, factor = name.partition(TIMES)
        held = Rows(rows.at, rows.lines, np.round(rows.values * float(factor), 6)) if times else rows
        parts.setdefault(bare, []).append(held)
    return {name: held[0] if len(held) == 1 else joined(held) for name, held in parts.items()}


def _one_rank(columns: dict[str, Rows]) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """The columns as one rank printed them, where several did."""
    ranks = columns.get(RANK)
    if ranks is None or len(ranks) == 0:
        return columns, ()
    told = np.unique(ranks.values)
    if len(told) < 2:
        return columns, ()
    others = np.sort(ranks.at[ranks.values != told[0]])
    kept = {}
    for name, rows in columns.items():
        rest = rows.select(~np.isin(rows.at, others))
        if len(rest):
            kept[name] = rest
    return kept, (f"{len(told)} ranks print into this log: the lines of rank {int(told[0])} are read",)
