"""Records with named values, and the axis that counts them: what CSV, JSON and JSON lines have in common."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.numbers import whole
from stethoscope.logs._reading.points import MAX_SERIES, aggregation_of, with_lone_loss
from stethoscope.logs._text.roles import ROLE_ALONE
from stethoscope.logs._text.unnamed_losses import losses_among
from stethoscope.run import Aggregation, Series
from stethoscope.run.names import assign, known

# What counts optimiser steps, the most telling first. W&B's `_step` counts calls of its log function.
STEP_COLUMNS = (
    *("global_step", "trainer/global_step", "train/global_step", "step", "steps", "iteration", "iterations"),
    *("iter", "iters", "current_steps", "num_updates", "update", "updates", "n_updates", "train_step"),
    *(
        "train/step",
        "training_step",
        "train_iter",
        "train/iter",
        "n_iter",
        "num_iter",
        "iter_num",
        "step_num",
    ),
    *("optimizer_step", "opt_step", "it", "total_timesteps", "time/total_timesteps", "totalenvinteracts"),
    *("global_iteration", "global_iter", "train/iteration", "train/iterations", "progress/iteration"),
    *("progress/step", "progress/global_step", "batch", "batch_idx", "global_batch"),
    *("timesteps", "num_timesteps", "timesteps_total", "env_steps", "total_env_steps", "num_env_steps"),
    *(
        "misc/total_timesteps",
        "num_env_steps_sampled",
        "num_env_steps_sampled_lifetime",
        "schritt",
        "round",
        "_step",
    ),
)
EPOCH_COLUMNS = ("epoch", "epochs", "train/epoch", "trainer/epoch", "current_epoch", "ep", "epoche")
KIMG_COLUMNS = ("progress/kimg", "kimg")
# Counted where nothing else is: OpenAI's loggers write "samples" beside "step".
SAMPLE_COLUMNS = ("samples", "samples_seen", "num_samples", "consumed_samples", "examples", "n_samples")
TIME_COLUMNS = ("_timestamp", "timestamp", "wall_time", "walltime", "timestamps", "time", "date", "datetime")
TOTAL_COLUMNS = ("total_steps", "max_steps", "total_iters", "max_iters", "num_training_steps")
AXIS_COLUMNS = frozenset((*STEP_COLUMNS, *EPOCH_COLUMNS, *KIMG_COLUMNS))

EARLIEST_TIME = 1e9  # September 2001, in seconds; a smaller "timestamp" is a duration
ROWS_PER_EPOCH = 4  # a row for training, validation and test each; with more, the epoch is no axis
MOSTLY = 0.9

Row = npt.NDArray[np.int64]
Column = tuple[Row, npt.NDArray[np.float64]]


# The rows of columns that have the same parts, by what the parts are; they are kept, so that no other part is
# ever taken for one of them.
Shared = dict[tuple[int, ...], tuple[list[Row], Row]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a table gave."""

    series: tuple[Series, ...]
    started: float | None
    last_written: float | None
    total_steps: int | None
    notes: tuple[str, ...]


@dataclass(slots=True)
class Table:
    """Rows of named values as they are met; a row may lack any of the columns.

    Values that come one at a time are appended to `places` and `values`; those that come by columns are
    kept in `blocks` as they are. `runs` holds the row and the line of the file at which rows begin to
    stand on consecutive lines.
    """

    rows: int = 0
    places: dict[str, array[int]] = field(default_factory=dict)
    values: dict[str, array[float]] = field(default_factory=dict)
    refused: bool = False
    blocks: dict[str, list[Column]] = field(default_factory=dict)
    runs: list[tuple[int, int]] = field(default_factory=list)

    def add(self, record: Iterable[tuple[str, float]], line: int | None = None) -> None:
        """Append one row; `line` is where it stands in the file."""
        if line is not None:
            self.stands_at(self.rows, line)
        for name, value in record:
            if self._has(name):
                self.places[name].append(self.rows)
                self.values[name].append(value)
        self.rows += 1

    def add_block(self, name: str, places: Row, values: npt.NDArray[np.float64]) -> None:
        """Append values of one column in these rows; the caller counts the rows."""
        if len(values) and self._has(name):
            held = self.blocks.setdefault(name, [])
            if self.places[name]:
                held.append(self._taken(name))
            held.append((places, values))

    def stands_at(self, row: int, line: int) -> None:
        """Note that a row stands on this line, and those after it on the lines that follow."""
        if not self.runs or line - row != self.runs[-1][1] - self.runs[-1][0]:
            self.runs.append((row, line))

    def reading(
        self,
        file: str,
        aggregation: Aggregation = Aggregation.UNKNOWN,
        instant: frozenset[str] = frozenset(),
    ) -> Reading:
        """The columns over the axis that the table names; `instant` are the columns that hold no means."""
        columns = self.columns()
        axis = axis_of(columns, self.rows)
        times = _clock(columns)
        totals = _find(columns, TOTAL_COLUMNS)
        silent = {
            name for name in (axis.column, times, totals, *_all(columns, STEP_COLUMNS)) if name is not None
        }
        signals = {name: column for name, column in columns.items() if name not in silent}
        names = assign({name: len(places) for name, (places, _) in signals.items()}) | _losses(signals, axis)
        series = tuple(
            Series(
                names[logged],
                logged,
                axis.steps if len(places) == self.rows else axis.steps[places],
                values,
                file,
                aggregation_of(
                    names[logged], logged, Aggregation.INSTANT if logged in instant else aggregation
                ),
                axis.name,
                self._lines(places),
            )
            for logged, (places, values) in signals.items()
        )
        clock = columns[times][1] if times else np.array([])
        clock = clock[np.isfinite(clock)]
        notes = [*axis.notes]
        if self.refused:
            notes.append(f"more than {MAX_SERIES} names; the rest was passed over")
        return Reading(
            with_validation_loss(with_lone_loss(series)),
            float(clock[0]) if len(clock) else None,
            float(clock[-1]) if len(clock) else None,
            whole(float(columns[totals][1][-1])) if totals else None,
            tuple(notes),
        )

    def columns(self) -> dict[str, Column]:
        """Every column that holds a value: the rows it stands in, and its values."""
        shared: Shared = {}
        return {
            name: self._column(name, shared)
            for name in self.places
            if self.places[name] or name in self.blocks
        }

    def _has(self, name: str) -> bool:
        """Whether a column of this name is kept, begun where there is none yet: only so many are."""
        if name not in self.places:
            if len(self.places) >= MAX_SERIES:
                self.refused = True
                return False
            self.places[name], self.values[name] = array("q"), array("d")
        return True

    def _taken(self, name: str) -> Column:
        """The values that were appended one at a time, as a block."""
        block = np.array(self.places[name], dtype=np.int64), np.array(self.values[name], dtype=np.float64)
        self.places[name], self.values[name] = array("q"), array("d")
        return block

    def _column(self, name: str, shared: Shared) -> Column:
        """One column; those that stand in the same rows share the array that says so."""
        if name not in self.blocks:
            return np.array(self.places[name], dtype=np.int64), np.array(self.values[name], dtype=np.float64)
        held = self.blocks[name]
        if self.places[name]:
            held.append(self._taken(name))
        if len(held) > 1:
            values = np.concatenate([part for _, part in held])
            key = tuple(id(part) for part, _ in held)
            if key not in shared:
                parts = [part for part, _ in held]
                shared[key] = parts, np.concatenate(parts)
            places = shared[key][1]
            if (np.diff(places) < 0).any():  # a row that was read apart from those around it
                order = np.argsort(places, kind="stable")
                places, values = places[order], values[order]
            self.blocks[name] = held = [(places, values)]
        return held[0]

    def _lines(self, places: Row) -> tuple[int, int] | None:
        """The first and the last line that hold a column."""
        if not self.runs or len(places) == 0:
            return None
        ends = []
        for row in (int(places[0]), int(places[-1])):
            first, line = self.runs[max(bisect_right(self.runs, row, key=lambda run: run[0]) - 1, 0)]
            ends.append(line + row - first)
        return ends[0], ends[1]


def _losses(signals: Mapping[str, Column], axis: Axis) -> dict[str, str]:
    """Of columns called `train` and `val` and no more, those whose numbers are a loss's."""
    if not any(map(ROLE_ALONE.fullmatch, signals)):
        return {}
    finite = {name: np.isfinite(values) for name, (_, values) in signals.items()}
    return losses_among(
        {
            name: (axis.steps[places][finite[name]].astype(np.float64), values[finite[name]])
            for name, (places, values) in signals.items()
        }
    )


def with_validation_loss(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """The series, and "val/loss" for the first of several held-out sets where none is the plain one."""
    if any(s.name == "val/loss" for s in series):
        return series
    sets = [s for s in series if s.name.startswith("val/loss/") and _OF_A_SET.fullmatch(s.logged_as)]
    if not sets:
        return series
    chosen = max(sets, key=len)  # the first of those evaluated most often
    return (*series, replace(chosen, name="val/loss"))


# The Trainer's names where `eval_dataset` is a dictionary: eval_<set>_loss.
_OF_A_SET = re.compile(r"eval[_/].+[_/]loss")


def looks_like_log(names: Iterable[str]) -> bool:
    """Whether these columns are a training log's: something that counts steps, or a signal known by name."""
    listed = [name.strip() for name in names]
    return any(spoken(name) in AXIS_COLUMNS or known(name) for name in listed)


# --- the axis ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """The step of every row, what a step is, and the column it came from."""

    steps: Row
    name: str
    column: str | None
    notes: tuple[str, ...] = ()


def axis_of(columns: Mapping[str, Column], rows: int) -> Axis:
    """Choose the axis: a step counter, else thousands of images, else epochs, else the row's number."""
    epoch = _find(columns, EPOCH_COLUMNS)
    counters = [
        _unrolled(name, steps, columns[epoch] if epoch else None)
        for name in _all(columns, STEP_COLUMNS)
        if (steps := _counter(columns[name], rows)) is not None
    ]
    if counters:
        return _steadiest(_without_doubtful(counters, columns, rows))
    kimg = _find(columns, KIMG_COLUMNS)
    for unit, name in ((1, "kimg"), (1000, "img")) if kimg else ():  # short ticks need the finer
        places, values = columns[kimg or ""]
        steps = _counter((places, np.round(values * unit)), rows)
        if steps is not None and len(steps) > 1 and (np.diff(steps) != 0).mean() >= MOSTLY:
            return Axis(steps, name, kimg)
    if epoch:
        steps = _counter(columns[epoch], rows)
        if steps is not None and len(np.unique(steps)) * ROWS_PER_EPOCH >= rows:
            return Axis(steps, "epoch", epoch)
    for name in _all(columns, SAMPLE_COLUMNS):
        steps = _counter(columns[name], rows)
        if steps is not None and len(steps) > 1 and (np.diff(steps) >= 0).mean() >= MOSTLY:
            return Axis(steps, "samples", name)
    note = ("no column counts steps: rows are counted instead",) if rows else ()
    return Axis(np.arange(rows, dtype=np.int64), "row", None, note)


def _without_doubtful(counters: list[Axis], columns: Mapping[str, Column], rows: int) -> list[Axis]:
    """The counters that can be an axis; all of them where none can.

    W&B counts every row itself. Beside its counter, one that few rows have tells little, and one that counts
    the batches of an epoch begins again with each.
    """
    counted_by_logger = any(spoken(one.column or "") == "_step" for one in counters)
    sound = [
        one
        for one in counters
        if not (counted_by_logger and 2 * len(columns[one.column or ""][0]) < rows)
        and not (spoken(one.column or "").rpartition("/")[2] in BATCH_COLUMNS and _falls(one.steps))
        and OFTEN * _falls(one.steps) < max(rows, OFTEN)
    ]
    return sound or [_in_laps(one) for one in counters]


def _in_laps(counter: Axis) -> Axis:
    """A counter of batches that begins again from about its highest, counted on over the laps."""
    if spoken(counter.column or "").rpartition("/")[2] not in BATCH_COLUMNS:
        return counter
    steps = counter.steps
    falls = np.flatnonzero(np.diff(steps) < 0)
    lowest, highest = int(steps.min()), int(steps.max())
    tops, begins = steps[falls], steps[falls + 1]
    # Every nth batch is logged: the first and the last of a lap may lie that far from its ends.
    stride = int(np.abs(np.diff(steps)[np.diff(steps) > 0]).max(initial=1))
    if not len(falls) or (begins > lowest + stride).any() or (tops < highest - stride).any():
        return counter
    length = highest + (1 if lowest == 0 else 0)
    if len(falls) * length > 2**62:
        return counter
    laps = np.concatenate([[0], np.cumsum(np.diff(steps) < 0)])
    note = f"{counter.column} begins again {len(falls)} times: counted on"
    return replace(counter, steps=steps + laps * length, notes=(note,))


BATCH_COLUMNS = frozenset({"batch", "batch_idx", "batch_id", "batch_index", "batch_nb"})
OFTEN = 4  # a counter that falls in more than this part of its rows counts nothing


def _steadiest(counters: list[Axis]) -> Axis:
    """The first counter, or one that falls less often: MMEngine's "step" is the epoch in validation rows."""
    chosen = counters[0]
    falls = _falls(chosen.steps)
    for other in counters[1:]:
        # W&B's own counter never falls, whatever happens to the run.
        if spoken(other.column or "") != "_step" and 2 * _falls(other.steps) < falls:
            return other
    return chosen


def _falls(steps: Row) -> int:
    return int(np.count_nonzero(np.diff(steps) < 0))


def _all(columns: Mapping[str, Column], wanted: tuple[str, ...]) -> list[str]:
    by_name = {spoken(name): name for name in reversed(list(columns))}
    for name in reversed(list(columns)):
        group, _, last = spoken(name).rpartition("/")
        if group and last in PLAIN_COUNTERS:  # Charts/global_step, perf/total_timesteps
            by_name.setdefault(last, name)
    return [by_name[name] for name in wanted if name in by_name]


PLAIN_COUNTERS = frozenset(
    {"global_step", "global_iteration", "total_timesteps", "num_updates", "current_steps"}
)


def spoken(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_").replace(".", "/")


def _find(columns: Mapping[str, Column], wanted: tuple[str, ...]) -> str | None:
    return next(iter(_all(columns, wanted)), None)


def _counter(column: Column, rows: int) -> Row | None:
    """The step of every row, rows without one taking the last before; None where nothing is counted."""
    places, values = column
    good = np.isfinite(values) & (np.abs(values) < 2.0**62) & (values == np.floor(values))
    if not good.any() or good.mean() < MOSTLY:
        return None
    places, values = places[good], values[good]
    if len(values) > 1 and (values == values[0]).all():
        return None
    steps: Row = values.astype(np.int64)
    every_row = np.arange(rows)
    if np.array_equal(places, every_row):
        return steps
    before = np.searchsorted(places, every_row, side="right") - 1
    return steps[np.maximum(before, 0)]


def _unrolled(name: str, steps: Row, epoch: Column | None) -> Axis:
    """A counter that begins again every epoch, counted on from epoch to epoch."""
    if epoch is None or len(steps) < 2:
        return Axis(steps, "step", name)
    counted = _counter(epoch, len(steps))
    falls = np.flatnonzero(np.diff(steps) < 0)
    if counted is None or len(falls) == 0:
        return Axis(steps, "step", name)
    with_epoch = np.diff(counted)[falls] > 0
    if with_epoch.mean() < MOSTLY:
        return Axis(steps, "step", name)
    length = int(steps.max()) + (1 if steps.min() == 0 else 0)
    if int(counted.max() - counted.min()) * length > 2**62:
        return Axis(steps, "step", name)
    unrolled = (counted - counted.min()) * length + steps
    return Axis(unrolled, "step", name, (f"{name} begins again every epoch: counted on over the epochs",))


def _clock(columns: Mapping[str, Column]) -> str | None:
    """The column that tells the time of day; "time" may also be how long a step took."""
    for name in _all(columns, TIME_COLUMNS):
        if np.nanmin(np.nan_to_num(columns[name][1], nan=np.inf)) > EARLIEST_TIME:
            return name
    return None


# --- nested values ----------------------------------------------------------------------------------

DEEPEST = 8  # levels of nesting that are looked into
LONGEST_LIST = 32  # longer lists are data (a histogram, a batch), not signals
TAG_KEYS = ("tag", "metric", "name", "key", "metric_name")  # beside "value" in a record of one value
# What a record was measured on, and what a record tells of: the last word of a key.
ROLE_KEYS = frozenset({"mode", "split", "phase", "stage", "subset", "partition", "loop"})
MESSAGE_KEYS = frozenset({"event", "type", "kind", "msg", "message"})
_HELD_OUT = re.compile(
    r"(?:val|valid|validation|eval|evaluation|test|testing|dev|hold[-_]?out|held[-_]?out)(?![a-z0-9])",
    re.IGNORECASE,
)
_TELLS_OF_HELD_OUT = re.compile(
    r"(?<![a-z0-9])(?:val|valid|validat(?:ion|e|ed|ing)|eval|evaluat(?:ion|e|ed|ing)|test|testing|dev"
    r"|hold[-_]?out|held[-_]?out)(?![a-z0-9])",
    re.IGNORECASE,
)
_TELLS_OF_TRAINING = re.compile(r"(?<![a-z0-9])(?:train|training|trained|trn)(?![a-z0-9])", re.IGNORECASE)
LONGEST_LABEL = 80  # characters; a longer text is prose, which may name anything
# Where loggers put what a program gave them.
_WRAPPERS = frozenset({"record", "extra", "fields", "payload", "data", "metrics", "scalars", "values"})
_LEVELS = frozenset({"level", "levelname", "severity", "log_level", "lvl", "level/name", "record/level/name"})
# What a logger says of a line itself: where in the program it was written, by which process, and when.
_LOGGERS_OWN = re.compile(
    r"(?:record/)?(?:elapsed|exception|file|function|level|line|module|process|thread|time)(?:/.*)?"
    r"|lineno|levelno|relativecreated|msecs|created|process(?:id)?|thread(?:id)?|pid|tid|line_number"
    r"|func_lineno|v|hostname",
    re.IGNORECASE,
)


def says_held_out(role: str) -> bool:
    """Whether the word for what a record was measured on means held-out data."""
    return _HELD_OUT.match(role.strip()) is not None


def tells_of_held_out(message: str) -> bool:
    """Whether a short message is about held-out data, and not about training as well."""
    return (
        len(message) <= LONGEST_LABEL
        and _TELLS_OF_HELD_OUT.search(message) is not None
        and _TELLS_OF_TRAINING.search(message) is None
    )


def is_role_key(name: str) -> bool:
    """Whether what stands under this name says what a record was measured on."""
    return _last_word(name) in ROLE_KEYS


def is_message_key(name: str) -> bool:
    """Whether what stands under this name tells what a record is about."""
    return _last_word(name) in MESSAGE_KEYS


def _last_word(name: str) -> str:
    return re.split(r"[_/]", spoken(name))[-1]


def of_validation(name: str) -> str:
    """The name of a value that was measured on held-out data; one that says its role itself is as it was."""
    axes = AXIS_COLUMNS | {*TIME_COLUMNS, *TOTAL_COLUMNS}
    if not name or spoken(name) in axes or _TELLS_OF_TRAINING.search(name) or _TELLS_OF_HELD_OUT.search(name):
        return name
    return f"val/{name}"


def flattened(record: Mapping[str, object]) -> list[tuple[str, object]]:
    """The leaves of a record by path, `a/b`; a record that says it is of validation marks its names so."""
    leaves: list[tuple[str, object]] = []
    stack: list[tuple[str, object, int]] = [(key, value, 1) for key, value in reversed([*record.items()])]
    while stack:
        path, value, depth = stack.pop()
        if isinstance(value, Mapping):
            if {"mean", "num"} <= value.keys() and len(value) <= 3:  # StyleGAN and EDM: a mean over a tick
                leaves.append((path, value["mean"]))
            elif depth < DEEPEST:
                stack.extend((f"{path}/{key}", held, depth + 1) for key, held in reversed([*value.items()]))
        elif isinstance(value, list):
            if depth < DEEPEST and len(value) <= LONGEST_LIST:
                inner = [(f"{path}/{at}", held, depth + 1) for at, held in enumerate(value)]
                stack.extend(reversed(inner))
        else:
            leaves.append((path, value))
    leaves = _named_by_tag(_unwrapped(leaves))
    if _of_held_out(leaves):
        return [(of_validation(name), value) for name, value in leaves]
    return leaves


def _of_held_out(leaves: list[tuple[str, object]]) -> bool:
    """Whether a record says that it was measured on held-out data: by its role, else by what it tells."""
    texts = [(name, value) for name, value in leaves if isinstance(value, str)]
    roles = [value for name, value in texts if is_role_key(name)]
    if roles:
        return says_held_out(roles[0])
    return any(tells_of_held_out(value) for name, value in texts if is_message_key(name))


def _unwrapped(leaves: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """The leaves of a logger's record without what it says of itself, and without the wrapping.

    {"text": ..., "record": {"extra": {"step": 10, "loss": 1.2}, "line": 74, "level": {"name": "INFO"}}}
    """
    if any(isinstance(value, str) and name.lower() in _LEVELS for name, value in leaves):
        clocks = ("record/time/timestamp",)
        leaves = [
            ("timestamp", value) if name in clocks else (name, value)
            for name, value in leaves
            if name in clocks or not _LOGGERS_OWN.fullmatch(name)
        ]
    taken = {name for name, _ in leaves}
    bare = {name: _without_wrappers(name) for name in taken if "/" in name}
    ends = Counter(name.rpartition("/")[2] for name in taken)  # {"data": {"loss": 1}, "physics": {"loss": 2}}
    return [
        (bare[name] if name in bare and ends[name.rpartition("/")[2]] == 1 else name, value)
        for name, value in leaves
    ]


def _without_wrappers(name: str) -> str:
    parts = name.split("/")
    while len(parts) > 1 and parts[0].lower() in _WRAPPERS:
        del parts[0]
    return "/".join(parts)


def _named_by_tag(leaves: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """The leaves with "value" under the name that the record gives it: {"tag": "loss", "value": 2.3}."""
    held = dict(leaves)
    tag = next((held[key] for key in TAG_KEYS if isinstance(held.get(key), str)), None)
    if tag is None or "value" not in held:
        return leaves
    return [(str(tag) if name == "value" else name, value) for name, value in leaves]
