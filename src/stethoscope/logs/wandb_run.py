"""W&B's offline run files, `run-<id>.wandb`: everything that a run told its logger, in one binary file.

The file is a chain of protobuf records (`_wandb.frames`). Of these are read: the run and its config, the
history (one row per call of `wandb.log`), the metrics that were declared with a step of their own, what the
run printed, and its exit code.

    run      { run_id, config { update { key: "lr", value_json: "0.1" } }, start_time }
    metric   { glob_name: "*", step_metric: "train/global_step" }
    history  { item { nested_key: "loss", value_json: "2.5" } item { nested_key: "_step", value_json: "0" } }
    output_raw { output_type: STDOUT, line: "iter 0: loss 4.0" }
    exit     { exit_code: 1 }
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.events import Scanner
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.kept_settings import kept_settings
from stethoscope.logs._tables.table import EPOCH_COLUMNS, KIMG_COLUMNS, TIME_COLUMNS, Axis, axis_of
from stethoscope.logs._wandb import wire
from stethoscope.logs._wandb.frames import MAGIC, Frames
from stethoscope.logs._wandb.history import History, value_in
from stethoscope.logs._wandb.output import Output
from stethoscope.logs.wandb_summary import series_of
from stethoscope.run import Aggregation, Document, Event, EventKind, Log

FORMAT = "W&B run file"

MOST_CONFIG_ITEMS = 20_000  # more is data that was passed as settings
MOST_METRICS = 10_000  # declared metrics
DEEPEST_SETTING = 64  # keys of one path
NAMES_SHOWN = 4

# Numbers of the fields of a record.
HISTORY, SUMMARY_RECORD, OUTPUT, CONFIG, STATS, METRIC, OUTPUT_RAW = 2, 3, 4, 5, 7, 12, 13
CONTROL, RUN, EXIT, UUID, OUTPUT_LOGGER, INFO = 16, 17, 18, 19, 27, 200
_BESIDE = frozenset({1, CONTROL, UUID, INFO})  # what stands beside the one field that says the kind

INTERRUPTED = 255  # W&B's exit code for a run that was stopped by Ctrl-C
_SIGNALLED = frozenset({137, 143, -9, -15})
_FAILURES = frozenset(
    {
        *(EventKind.TRACEBACK, EventKind.OUT_OF_MEMORY, EventKind.KILLED, EventKind.STOPPED_BY_USER),
        *(EventKind.DEVICE_ASSERT, EventKind.CRASHED),
        *(EventKind.COLLECTIVE_TIMEOUT, EventKind.DATA_WORKER_DIED, EventKind.DISK_FULL),
        EventKind.STOPPED_BY_GUARD,
    }
)


def recognise(head: Head) -> float:
    """The file's first bytes."""
    return 1.0 if head.start.startswith(MAGIC) else 0.0


def begin(head: Head) -> RunFile:
    """Read records as they come."""
    return RunFile(head.file, head.changed, Frames(head.file), output=Output(Scanner(head.file)))


@dataclass(slots=True)
class RunFile:
    """A run file being read."""

    file: str
    changed: float | None
    frames: Frames
    output: Output
    history: History = field(default_factory=History)
    config: dict[str, object] = field(default_factory=dict)
    config_items: int = 0
    summary: dict[str, object] = field(default_factory=dict)
    metrics: list[_Metric] = field(default_factory=list)
    started: float | None = None
    resumed_at: int | None = None
    exit_code: int | None = None
    exit_line: int = 0
    statistics: int = 0
    damaged: int = 0

    def take(self, data: bytes, last: bool) -> int:
        """Read the records in these bytes."""
        records, done = self.frames.cut(data, last)
        rows: list[bytes] = []
        for record in records:
            try:
                kind, body = _kind_of(record)
                if kind == HISTORY:
                    rows.append(body)
                else:
                    self._note(kind, body, self.history.rows + len(rows))
            except wire.BadMessage:
                self.damaged += 1
        if rows:
            self.output.forget()
            self.history.add(rows)
        return done

    def log(self) -> Log:
        """The history over its axis; for a run without any, what it printed."""
        table = self.history.table(self._axis_names())
        axis = axis_of(table.columns(), table.rows)
        found = table.reading(self.file, self._aggregation(), instant=frozenset({"_runtime"}))
        log = Log(
            self.file,
            FORMAT,
            found.series,
            self._events(axis),
            self._documents(),
            started=self.started or found.started,
            last_written=found.last_written or self.output.last_written or self.changed,
            total_steps=found.total_steps,
            notes=(*found.notes, *self._notes(axis)),
        )
        return log if log.series else self._without_history(log)

    # --- records ----------------------------------------------------------------------------------------

    def _note(self, kind: int, body: bytes, rows: int) -> None:
        """Take in a record that is no history."""
        if kind in (OUTPUT, OUTPUT_RAW):
            self._printed(body, rows)
        elif kind == OUTPUT_LOGGER:
            lines = [wire.text(value) for key, value in wire.fields(body) if key == 1]
            self.output.add(0, "".join(line.rstrip("\n") + "\n" for line in lines), rows)
        elif kind == SUMMARY_RECORD:
            if not rows:  # else the history says the same, and more
                _update(self.summary, body, MOST_CONFIG_ITEMS)
        elif kind == CONFIG:
            self._configure(body)
        elif kind == RUN:
            self._run(body)
        elif kind == METRIC and len(self.metrics) < MOST_METRICS:
            self.metrics.append(_metric(body))
        elif kind == EXIT:
            codes = [value for key, value in wire.fields(body) if key == 1 and isinstance(value, int)]
            self.exit_code, self.exit_line = wire.signed(codes[-1]) if codes else 0, self.output.lines
        elif kind == STATS:
            self.statistics += 1

    def _printed(self, body: bytes, rows: int) -> None:
        stream, line = 0, ""
        for key, value in wire.fields(body):
            if key == 1 and isinstance(value, int):
                stream = value
            elif key == 2:
                self.output.last_written = wire.moment(value) or self.output.last_written
            elif key == 3:
                line = wire.text(value)
        self.output.add(stream & 1, line, rows)

    def _configure(self, body: bytes) -> None:
        self.config_items += _update(self.config, body, MOST_CONFIG_ITEMS - self.config_items)

    def _run(self, body: bytes) -> None:
        for key, value in wire.fields(body):
            if key == 4 and isinstance(value, bytes):
                self._configure(value)
            elif key == 17:
                self.started = self.started or wire.moment(value)
            elif key == 14 and isinstance(value, int) and value:
                self.resumed_at = wire.signed(value)
            elif key in (18, 24) and value:
                self.resumed_at = self.resumed_at or 0

    # --- what they tell ---------------------------------------------------------------------------------

    def _axis_names(self) -> dict[str, str]:
        """The counter that was declared for most signals, under the name that a table looks for first."""
        declared = _declared_counter(self.metrics, self.history.names())
        if declared is None or declared == "global_step":
            return {}
        return {declared: "global_step", "global_step": "steps"}

    def _aggregation(self) -> Aggregation:
        # The Hugging Face Trainer logs means over its logging steps, against its own counter.
        trainer = {"train/global_step", "train/loss", "train/epoch"} <= self.history.places.keys()
        return Aggregation.WINDOW_MEAN if trainer else Aggregation.UNKNOWN

    def _events(self, axis: Axis) -> tuple[Event, ...]:
        events = [_stepped(event, axis) for event in self.output.events()]
        if self.resumed_at is not None:
            words = f"resumed at W&B step {self.resumed_at}" if self.resumed_at else "resumed"
            events.insert(0, Event(EventKind.RESUMED, words, self.file, 0))
        ended = self._exit([event.kind for event in events])
        if ended is not None:
            step = int(axis.steps[-1]) if len(axis.steps) else None
            events.append(Event(ended, f"exit code {self.exit_code}", self.file, self.exit_line, step))
        return tuple(events)

    def _exit(self, kinds: list[EventKind]) -> EventKind | None:
        """What the exit code announces beyond what the printed lines said."""
        if self.exit_code is None or (self.exit_code and _FAILURES.intersection(kinds)):
            return None
        if self.exit_code == 0:
            return None if EventKind.FINISHED in kinds else EventKind.FINISHED
        if self.exit_code == INTERRUPTED:
            return EventKind.STOPPED_BY_USER
        return EventKind.KILLED if self.exit_code in _SIGNALLED else EventKind.TRACEBACK

    def _documents(self) -> tuple[Document, ...]:
        return kept_settings({key: value for key, value in self.config.items() if key != "_wandb"}, self.file)

    def _notes(self, axis: Axis) -> list[str]:
        said = self.frames.notes()
        if self.damaged or self.history.damaged:
            said.append(f"{self.damaged + self.history.damaged:,} records are no valid messages: passed over")
        if axis.column == "_step" and len(axis.steps):
            said.append(
                "steps are W&B's own count (_step), which counts calls of log unless a step is passed"
            )
        if media := self.history.media():
            names = ", ".join(media[:NAMES_SHOWN]) + (" ..." if len(media) > NAMES_SHOWN else "")
            said.append(f"values that are no numbers passed over: {names}")
        if self.statistics:
            said.append(f"{self.statistics:,} records of system statistics passed over")
        if self.config_items >= MOST_CONFIG_ITEMS:
            said.append(f"more than {MOST_CONFIG_ITEMS:,} settings; the rest was passed over")
        return said

    def _without_history(self, log: Log) -> Log:
        """What a run printed, where it logged nothing; else the last values, where it kept those."""
        inside = self.output.read(self.file)
        notes = [note for note in log.notes if not note.startswith("no column counts steps")]
        if inside is not None:
            notes.append(f"no history: what the run printed was read instead, as {inside.format}")
            if self.output.overfull:
                notes.append("it printed too much to keep; the rest was searched for events only")
            ended = [
                event for event in log.events if event.line == self.exit_line and "exit code" in event.message
            ]
            return replace(
                log,
                series=inside.series,
                events=(*inside.events, *ended),
                documents=(*log.documents, *inside.documents),
                total_steps=inside.total_steps,
                notes=(*notes, *inside.notes),
            )
        series = series_of(self.summary, self.file)
        if series:
            notes.append("no history: the last values are all there is")
        elif not (log.events or log.documents):
            raise UnreadableFile(f"{self.file}: a W&B run that logged and printed nothing")
        else:
            notes.append("no values in it; kept for what it says about the run")
        return replace(log, series=series, notes=tuple(notes))


def _kind_of(record: bytes) -> tuple[int, bytes]:
    """The field that says what a record is, and its content."""
    at = 0
    if record[:1] == b"\x08":  # the record's number
        _, at = wire.varint(record, 1)
    key = record[at] if at < len(record) else 0
    if key & 7 == 2 and HISTORY <= key >> 3 < CONTROL:  # nearly every record: its content follows at once
        length, at = wire.varint(record, at + 1)
        if at + length <= len(record):
            return key >> 3, record[at : at + length]
    for number, value in wire.fields(record):
        if number not in _BESIDE and isinstance(value, bytes):
            return number, value
    return 0, b""


# --- settings and summary -------------------------------------------------------------------------------


def _update(held: dict[str, object], body: bytes, most: int) -> int:
    """Apply the updates and removals of a config or summary record; gives how many were applied."""
    applied = 0
    for key, value in wire.fields(body):
        if key in (1, 2) and isinstance(value, bytes) and applied < most:
            path, found = _config_item(value)
            applied += 1
            if key == 1 and 0 < len(path) <= DEEPEST_SETTING:
                _put(held, path, found)
            elif path and len(path) == 1:
                held.pop(path[0], None)
    return applied


def _config_item(item: bytes) -> tuple[list[str], object]:
    path: list[str] = []
    found: object = None
    for key, value in wire.fields(item):
        if key in (1, 2):
            path.append(wire.text(value))
        elif key == 16 and isinstance(value, bytes):
            found = value_in(value)
    return path, found


def _put(held: dict[str, object], path: list[str], value: object) -> None:
    for key in path[:-1]:
        inner = held.get(key)
        if not isinstance(inner, dict):
            inner = held[key] = {}
        held = inner
    held[path[-1]] = value


# --- the declared counter -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Metric:
    """A metric that was declared: its name or pattern, and the metric that counts its steps."""

    pattern: str
    counter: str
    counter_at: int


def _metric(body: bytes) -> _Metric:
    name = counter = ""
    index = 0
    for key, value in wire.fields(body):
        if key in (1, 2):
            name = wire.text(value)
        elif key == 4:
            counter = wire.text(value)
        elif key == 5 and isinstance(value, int):
            index = value  # of the declaration, counted from 1
    return _Metric(_path(name), _path(counter), index)


def _path(name: str) -> str:
    return name.replace("\\.", "\0").replace(".", "/").replace("\0", ".")


def _declared_counter(metrics: list[_Metric], columns: list[str]) -> str | None:
    """The column that most signals were declared to be counted by."""
    counters = [_counter_of(metric, metrics) for metric in metrics]
    exact = {m.pattern: c for m, c in zip(metrics, counters, strict=True) if c and "*" not in m.pattern}
    globs = [(m.pattern, c) for m, c in zip(metrics, counters, strict=True) if c and "*" in m.pattern]
    spellings = {_path(name): name for name in columns}
    not_steps = {*EPOCH_COLUMNS, *KIMG_COLUMNS, *TIME_COLUMNS}
    signals = [name for name in spellings if not name.startswith("_") and name not in counters]
    votes = Counter(
        exact.get(name) or next((c for pattern, c in globs if fnmatchcase(name, pattern)), "")
        for name in signals
    )
    winner, count = next(iter(votes.most_common(1)), ("", 0))
    if winner not in spellings or winner.lower() in not_steps or 2 * count < len(signals):
        return None
    return spellings[winner]


def _counter_of(metric: _Metric, metrics: list[_Metric]) -> str:
    if metric.counter or not 0 < metric.counter_at <= len(metrics):
        return metric.counter
    return metrics[metric.counter_at - 1].pattern


# --- steps of events ------------------------------------------------------------------------------------


def _stepped(event: Event, axis: Axis) -> Event:
    """The event with the step of the last row before it; a step that it names itself stays."""
    if event.step is None or event.step > 0:
        return event
    return replace(event, step=int(axis.steps[-event.step - 1]) if event.step else None)
