"""Dicts of numbers that a trainer prints: the Hugging Face Trainer, and what is built on it (TRL, Axolotl,
LLaMA-Factory, ms-swift).

      2%|2         | 10/500 [00:01<00:50,  9.62it/s]
    {'loss': 2.31, 'grad_norm': 1.23, 'learning_rate': 4.9e-05, 'epoch': 0.02}
    {'eval_loss': '1.94', 'eval_runtime': '0.8', 'epoch': '0.1'}
    {'train_runtime': 52.1, 'train_loss': 1.2, 'epoch': 1.0}

The dicts tell the epoch and no step. Where the Trainer's bar is in the log, its position is the step; the bar
of an evaluation looks the same and counts up to another total. Without bars the rows of training are
counted, and an evaluation stands at the row of training before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.logs._reading.disguised_nan import disguised_nan
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.counting import EPOCH, STEP
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.pairs import message_begins, parsed
from stethoscope.logs._text.roles import HELD_OUT, heading_role, is_of_data, placed, role_in
from stethoscope.logs._text.rows import (
    NO_ROWS,
    Assembled,
    Places,
    RowReading,
    Rows,
    add_rows,
    steps_before,
    steps_behind,
    whole_numbers,
)
from stethoscope.run import Aggregation, Log
from stethoscope.run.names import canonical

FORMAT = "printed dict lines"

INSTANT = frozenset({"grad_norm", "learning_rate", "epoch"})
DISTINCT = 0.8  # of the rows of training must have a bar of their own; fewer were printed in clumps

_BAR = re.compile(r"\s*\d{1,3}%\|[^|]{0,400}\| (?P<done>\d{1,12})/(?P<all>\d{1,12}) \[")
_DICT = re.compile(r"\{(?P<inside>\s*'[^{}]{1,6000})\}")
_WRAP = r"(?:(?:np\.|numpy\.)?float\d{0,3}\(|(?:torch\.)?tensor\()?"
_ENTRY = re.compile(
    rf"'(?P<name>[^'{{}}:]{{1,200}})'\s*:\s*{_WRAP}'?(?P<value>{NUMBER})%?(?P<total>/\d+)?(?=['),\s}}/]|$)"
)
_STEPS = frozenset({"step", "steps", "global_step", "global_steps", "current_steps", "iter", "iteration"})
_OF_TOTAL = "global_step/max_steps"  # ms-swift: '10/500'
_BAR_DONE, _BAR_ALL = "\0bar", "\0bar/all"


def recognise(head: Head) -> float:
    """Dicts with a loss, an evaluation or the final summary."""
    if head.binary or head.prose or "{'" not in head.ends:
        return 0.0
    found = 0
    for line, times in head.shapes:
        if "{'" in line:
            found += times if _told(_entries(line)) else 0
    return (0.0, 0.6, 0.8)[found] if found < 3 else 0.9


def begin(head: Head) -> _Reading:
    """Every dict, and the bars between them."""
    return _Reading(head)


class _Reading:
    """The rows of the log, and its notes once they are series."""

    def __init__(self, head: Head) -> None:
        self.text = RowReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, assemble=_assembled)

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        return self.text.take(data, last)

    def log(self) -> Log:
        """What was read so far."""
        log = self.text.log()
        series = tuple(
            replace(one, aggregation=Aggregation.INSTANT) if one.logged_as in INSTANT else one
            for one in log.series
        )
        return replace(log, series=series, notes=(*log.notes, *disguised_nan(series)))


def _told(entries: list[Place]) -> bool:
    """Whether the entries of a dict are those of a training."""
    names = {name for name, _, _ in entries}
    if "train_runtime" in names:
        return True
    measured = any(canonical(name).startswith(("loss", "val/", "train/")) for name in names)
    return measured and len(entries) > 1


def _entries(line: str) -> list[Place]:
    """The numbers of the dict that ends a line."""
    start = line.find("{'")
    found = _DICT.match(line, start) if start >= 0 else None
    if found is None:
        return []
    inside = found.span("inside")
    return [(entry["name"], *entry.span("value")) for entry in _ENTRY.finditer(line, *inside)]


def _step_line(line: str) -> StepLine | None:
    bar = _BAR.match(line) if "%|" in line else None
    if bar is not None and "{'" not in line:
        return StepLine(((_BAR_DONE, *bar.span("done")), (_BAR_ALL, *bar.span("all"))))
    entries = _entries(line) if "{'" in line else []
    if not _told(entries) or any(name == "train_runtime" for name, _, _ in entries):
        return None  # the summary at the end announces that training is done
    places = {name: (start, end) for name, start, end in entries}
    counts = {_OF_TOTAL, *_STEPS}
    before = line[: line.index("{'")]
    named = _of_data(before)
    values = [(STEP if name in counts else named(name), *span) for name, span in places.items()]
    return StepLine((*values, *_before(before, {name for name, _, _ in values})))


def _of_data(text: str) -> Callable[[str], str]:
    """How the names of a dict are kept, by the data that the words before it tell: `Validation: {..}`."""
    held_out = heading_role(text, message_begins(text)) == HELD_OUT
    return lambda name: (
        f"val {name}" if held_out and is_of_data(name, HELD_OUT) and not role_in(name) else name
    )


def _before(text: str, told: set[str]) -> Iterator[Place]:
    """What the words before a dict count: `epoch 3: {'accuracy': 0.8}`."""
    for name, one in placed(parsed(text), text) if any(map(str.isdigit, text)) else ():
        if name in {STEP, EPOCH} and name not in told:
            yield name, one.start, one.end


# --- the steps ----------------------------------------------------------------------------------------


def _assembled(rows: Mapping[str, Rows]) -> Assembled:
    """The dicts at their steps."""
    signals = {name: held for name, held in rows.items() if not name.startswith("\0")}
    counted, steps = whole_numbers(rows.get(STEP, NO_ROWS))
    trained = _trained(signals)
    if len(steps) >= max(len(trained), 1):
        found = _Counted(counted.at, counted.lines, steps)
    else:
        found = _by_bars(rows, trained) or _by_epochs(rows, trained) or _by_rows(trained)
    points = Points()
    place = steps_behind if found.behind else steps_before
    for name, held in signals.items():
        add_rows(points, name, held, place(held.at, found.at, found.steps), found.axis)
    lines = (found.lines, found.steps) if found.axis == "step" else None
    return Assembled(points, lines, found.total, found.notes)


def _trained(signals: Mapping[str, Rows]) -> Rows:
    """The rows of training: those of the name that is printed most often."""
    own = [held for name, held in signals.items() if role_in(name) != HELD_OUT and name != "epoch"]
    return max(own or [*signals.values()], key=len, default=NO_ROWS)


@dataclass(frozen=True, slots=True)
class _Counted:
    at: Places
    lines: Places
    steps: Places
    axis: str = "step"
    total: int | None = None
    notes: tuple[str, ...] = ()
    behind: bool = False  # whether the row behind tells the step, and not the one before


def _by_epochs(rows: Mapping[str, Rows], trained: Rows) -> _Counted | None:
    """The epoch that stands before each dict; None where none does, or several dicts have the same."""
    counted, epochs = whole_numbers(rows.get(EPOCH, NO_ROWS))
    if len(epochs) < max(len(trained), 1) or len(np.unique(epochs)) < len(epochs):
        return None
    return _Counted(counted.at, counted.lines, epochs, "epoch")


def _by_rows(trained: Rows) -> _Counted:
    said = "the dicts tell no step and there is no bar: rows of training are counted instead"
    rows = np.arange(1, len(trained) + 1, dtype=np.int64)
    return _Counted(trained.at, trained.lines, rows, "row", None, (said,))


def _by_bars(rows: Mapping[str, Rows], trained: Rows) -> _Counted | None:
    """The step by the bar before that counts up to the training's total; None without such bars."""
    if _BAR_DONE not in rows or _BAR_ALL not in rows or len(trained) == 0:
        return None
    done, everything = rows[_BAR_DONE], rows[_BAR_ALL]
    total = _training_total(done, everything, trained)
    counted, positions = whole_numbers(done.select(everything.values == total))
    if len(counted) == 0:
        return None
    # A bar lags behind by some steps, and is drawn again below a line that was written over it. A log that is
    # cut between the two has none below, and one whose output was held back has another.
    before = steps_before(trained.at, counted.at, positions)
    behind = steps_behind(trained.at, counted.at, positions)
    for steps, is_behind in sorted([(before, False), (behind, True)], key=lambda pair: _unevenness(pair[0])):
        if len(np.unique(steps)) >= DISTINCT * len(steps):
            return _Counted(counted.at, counted.lines, positions, "step", int(total), (), is_behind)
    # Output that was held back and written in clumps: the dicts come at a fixed interval of steps.
    interval = max(1, round(int(positions.max()) / len(trained)))
    even = np.arange(1, len(trained) + 1, dtype=np.int64) * interval
    said = f"the dicts were written in clumps, behind their bars: taken as one every {interval} steps"
    return _Counted(trained.at, trained.lines, even, "step", int(total), (said,))


def _unevenness(steps: Places) -> int:
    """How many different intervals lie between the steps; a trainer logs at one."""
    return len(np.unique(np.diff(steps)))


def _training_total(done: Rows, everything: Rows, trained: Rows) -> float:
    """What the training's bar counts up to: the bar that stands before most rows of training."""
    before = np.maximum(np.searchsorted(done.at, trained.at, side="right") - 1, 0)
    totals, counts = np.unique(everything.values[before], return_counts=True)
    return float(totals[np.argmax(counts)])
