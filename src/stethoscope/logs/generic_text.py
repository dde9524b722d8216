"""A text log in a format nobody described: its lines are asked what they name and what they count.

    Epoch 3/10 | train loss: 0.123 | val loss: 0.2 | acc: 91.2%
    [12:00:01] it=500 L=0.31 lr=1e-4
    Train Epoch: 1 [640/60000 (1%)]  Loss: 2.30

Both ends of the file are searched for lines that recur with other numbers. It is a log where such lines
hold a loss, a metric or a rate and something that counts up; prose, source, settings and the output of
other programs have no such lines. How sure the reading is goes into the log's notes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from stethoscope.logs._reading.events import kind_of
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.plain import plain
from stethoscope.logs._reading.points import Points
from stethoscope.logs._reading.scaler_messages import scales_in
from stethoscope.logs._text.counting import (
    ALL,
    EPOCH,
    RANK,
    TIMES,
    assembled,
    counted_by,
)
from stethoscope.logs._text.decimal_commas import WithPoints, has_decimal_commas, with_points
from stethoscope.logs._text.dumped_config import calls_with_settings
from stethoscope.logs._text.finish import Finished, with_validations_ended
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.headings import HEADING, TOLD, of_data, under_headings
from stethoscope.logs._text.pairs import Parsed, first_words, message_begins, parsed
from stethoscope.logs._text.roles import (
    FINE,
    HELD_OUT,
    ROLE_ALONE,
    distinct,
    has_role,
    heading_label,
    heading_role,
    placed,
    tag_of,
    tells_something,
    without_tag,
)
from stethoscope.logs._text.rows import Assembled, RowReading, Rows
from stethoscope.logs._text.subjects import about, side_by_side
from stethoscope.logs._text.unnamed_losses import losses_by_numbers, totals_of_terms
from stethoscope.run import Aggregation, Log
from stethoscope.run.names import canonical, known

FORMAT = "unknown text log"

LEAST, MOST = 0.31, 0.5  # what the surest unknown log is worth: less than any format that is known
FEWEST_LINES = 2  # of one kind, for a log as short as that
PLENTY = 10  # lines of one kind, from which on there is no doubt that they recur
SAMPLED = 40  # lines of one kind that are looked at, at each end
MOST_LINES = 6_000  # of both ends
NEARLY_ALL = 0.9  # of the lines that recur begin with the name of the logger
MOSTLY_ON = 0.4  # of the lines that begin with a number, at least, have a higher one than the line before
LONGEST_SHOWN = 100  # characters of an example in a note
LATEST_TIME, EARLIEST_TIME = 4e9, 1e9  # Unix times of this century

_DIGITS = re.compile(r"\d+")
_SOURCE = re.compile(
    r"^\s*(?:#|//|/\*|\*(?!\*)|def |class |import |from \S+ import|return\b|if .*:\s*$|for .*:\s*$|elif |"
    r"else:|while |print\w*\(|assert |@|self\.|parser\.|logger\.|raise |except|try:|with .*:\s*$|\$ |"
    r">>> \w[\w.]*(?:\(| = | import)|"
    r"\w+ = |[-+]\w)|[;{]\s*$| --[a-z]"
)
_ROLES = {"tr": "train", "trn": "train", "va": "val", "vl": "val", "te": "test", "tst": "test"}
_SPELLED_ROLES = {role: role for role in ("train", "val", "valid", "eval", "test", "dev")}
_QUANTITIES = {"l": "loss", "a": "acc"}  # behind a role: trn_l, tst_a, val_L
_LOSS_LETTERS = ("L", "l", "Ls", "ls", "J")
_NO_SIGNAL = frozenset(
    [
        "pid",
        "port",
        "id",
        "seed",
        "ids",
        "line",
        "lines",
        "lineno",
        "epoch_time",
        "eta",
        "gpu",
        "rank",
        "node",
        "device",
        "job",
        "port",
    ]
)
# Errors that are minimised, the likeliest first: of two, the absolute one is printed to be understood.
_MINIMISED_ERRORS = ("train/nll", "train/mse", "train/mae")
_TOKEN = re.compile(r"[\s_\-./#]+")


def recognise(head: Head) -> float:
    """Lines that recur, name something that is measured, and count up."""
    found = _learned(head)
    return 0.0 if found is None else LEAST + (MOST - LEAST) * found.sureness


def begin(head: Head) -> Finished | WithPoints:
    """Every line of the kinds that the two ends of the file hold."""
    found = _learned(head) or _Learned(frozenset(), frozenset(), {}, "", 0.0, "")
    reading = RowReading(
        head,
        FORMAT,
        lambda line: _step_line(line, found),
        Aggregation.UNKNOWN,
        mark=lambda line: _heading(line, found.logger),
    )
    reading.assemble = lambda rows: _assembled(under_headings(rows, reading.marks), found)
    finished = Finished(reading, (with_validations_ended, _with_lone_error))
    return WithPoints(finished) if has_decimal_commas(head.ends) else finished


def _with_lone_error(log: Log) -> Log:
    """The log, and "loss" for the error that training prints where it prints no loss."""
    by_name = {series.name: series for series in log.series}
    if any(name.split("/")[0] == "loss" for name in by_name):
        return log
    error = next((by_name[name] for name in _MINIMISED_ERRORS if name in by_name), None)
    if error is None or len(error) < FEWEST_LINES or error.axis == "row":
        return log
    return replace(log, series=(*log.series, replace(error, name="loss")))


def _heading(line: str, logger: str) -> str | None:
    """The role of the lines below this one, and the data; what announces an event is no heading."""
    begins = message_begins(line, logger)
    role = heading_role(line, begins) if kind_of(line) is None else None
    return of_data(role, heading_label(line, begins)) if role == HELD_OUT else role


# --- learning the lines ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Learned:
    """What both ends of a file tell: the kinds of line that recur, and how the counters are spelled."""

    templates: frozenset[str]
    stepped: frozenset[str]  # names on lines that count more finely than by epochs
    sources: Mapping[str, str]
    example: str
    sureness: float
    counter: str
    tag: str = ""  # what every line that counts is headed by
    logger: str = ""  # the name that every message is headed by
    subjects: frozenset[str] = frozenset()  # what the lines are about that count side by side


@dataclass(slots=True)
class _Kind:
    """Lines that differ only in their numbers."""

    lines: list[Parsed] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    count: int = 0

    def listed(self) -> Iterator[tuple[int, Parsed, str]]:
        """Each line with its place and its text."""
        yield from zip(self.places, self.lines, self.texts, strict=True)


def _learned(head: Head) -> _Learned | None:
    """What recurs in both ends of a file; None where that is no training log."""
    if head.binary or head.prose:
        return None
    kinds = _kinds(head)
    if logger := _logger(kinds):
        kinds = _kinds(head, logger)
    subjects = side_by_side(_in_order(kinds))
    tag = "" if subjects else _only_tag(kinds)
    for kind in kinds.values():
        kind.lines = [without_tag(about(line, subjects), tag) for line in kind.lines]
    telling = {template: kind for template, kind in kinds.items() if _tells(kind)}
    if not telling:
        return None
    # What is met once may belong to a log, and makes none: prose about losses has no line twice.
    recurring = {template: kind for template, kind in telling.items() if kind.count >= FEWEST_LINES}
    columns, sources, recurring = _columns_of(recurring)
    telling = {**recurring, **_columns_of(telling)[2]}
    signals = {name: rows for name, rows in columns.items() if not name.startswith("\0")}
    stepped = frozenset(name for kind in telling.values() for name in _stepped_names(kind))
    best = max((_worth(name, rows) for name, rows in signals.items()), default=0.0)
    if best == 0.0:
        return None
    counted = counted_by(columns, signals, sources)
    moving = counted is not None and len(np.unique(counted.steps)) >= FEWEST_LINES
    if not moving or counted is None:
        # A loss that is printed over and over without a counter is a log, if a poor one.
        spelled = any(_is_spelled(kind) for kind in telling.values())
        if best < 1.0 or not spelled or max(map(len, signals.values())) < PLENTY:
            return None
        return _Learned(
            frozenset(telling), stepped, sources, _shown(telling), 0.05, "", tag, logger, subjects
        )
    if (np.diff(counted.steps) >= 0).mean() < 0.6:
        return None
    named = 1.0 if counted.axis == "step" and counted.source else 0.8 if counted.axis == "epoch" else 0.4
    lines = max(len(rows) for name, rows in signals.items() if _worth(name, rows) == best)
    # A number that only stands first must count one after the other, and beside something known by name.
    # A validation may stand at the step of the training before it.
    gaps = np.diff(counted.steps)
    steady = bool((gaps >= 0).all() and (gaps > 0).mean() >= MOSTLY_ON)
    if named < 0.5 and (best < 0.8 or lines < 3 or not steady):
        return None
    sureness = best * named * min(1.0, 0.3 + 0.7 * lines / PLENTY)
    sureness = min(sureness, 1.0)
    return _Learned(
        frozenset(telling), stepped, sources, _shown(telling), sureness, counted.source, tag, logger, subjects
    )


def _logger(kinds: Mapping[str, _Kind]) -> str:
    """The name of the logger, where a word heads nearly all messages and they go on differently behind it."""
    behind: dict[str, Counter[str]] = defaultdict(Counter)
    every = 0
    for kind in kinds.values():
        if kind.count >= FEWEST_LINES:
            every += kind.count
            if words := first_words(kind.texts[0]):
                behind[words[0]][words[1]] += kind.count
    name = max(behind, key=lambda word: behind[word].total(), default="")
    is_name = len(behind[name]) > 1 and behind[name].total() >= NEARLY_ALL * every
    return name if is_name and not tells_something(name) else ""


def _in_order(kinds: Mapping[str, _Kind]) -> list[tuple[int, Parsed, str]]:
    """The lines looked at, each with its place and its text, in the order of the file."""
    lines = ((at, line, text) for kind in kinds.values() for at, line, text in kind.listed())
    return sorted(lines, key=lambda one: one[0])


def _only_tag(kinds: Mapping[str, _Kind]) -> str:
    """What the lines that count are about; nothing where that is several things, which are never merged."""
    tags = {tag for kind in kinds.values() if kind.count >= FEWEST_LINES and (tag := tag_of(kind.lines[0]))}
    return tags.pop() if len(tags) == 1 else ""


def _kinds(head: Head, logger: str = "") -> dict[str, _Kind]:
    """The lines of both ends by kind, a few of each."""
    text = with_points(head.ends) if has_decimal_commas(head.ends) else head.ends
    lines = plain(text).replace("\r", "\n").split("\n")
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES // 2] + lines[-MOST_LINES // 2 :]
    groups: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if any(map(str.isdigit, line)) and len(line) < 4_000:
            groups.setdefault(_DIGITS.sub("0", line), []).append(at)
    kinds: dict[str, _Kind] = {}
    for places in groups.values():
        if len(places) > 2 * SAMPLED:
            places = places[:SAMPLED] + places[-SAMPLED:]
        for at in places:
            line = lines[at]
            if _SOURCE.search(line) or calls_with_settings(line):
                break
            found = parsed(line, logger)
            if not found.fields:
                continue
            kind = kinds.setdefault(found.template, _Kind())
            kind.lines.append(found)
            kind.texts.append(line)
            kind.places.append(at)
            kind.count += 1
    return kinds


def _tells(kind: _Kind) -> bool:
    """Whether lines of this kind recur with other numbers, or name a signal that is known."""
    fields, text = kind.lines[0].fields, kind.texts[0]
    roles = placed(kind.lines[0], text)
    if not roles:
        return False
    if kind.count >= FEWEST_LINES:
        return True
    # Met once: a validation, perhaps; a rate alone is a setting.
    return any(_is_measured(name) for name, _ in roles) and any(f.joint in ":=" for f in fields)


def _stepped_names(kind: _Kind) -> Iterator[str]:
    """The signals on lines of this kind, where they count steps."""
    names = [name for name, _ in placed(kind.lines[0], kind.texts[0])]
    if FINE.intersection(names):
        yield from (name for name in names if not name.startswith("\0"))


def _is_spelled(kind: _Kind) -> bool:
    """Whether lines of this kind give a loss behind a sign, and not in the course of a sentence."""
    return any(
        one.joint in ":=" and canonical(one.name).startswith(("loss", "val/loss"))
        for one in kind.lines[0].fields
        if one.name
    )


def _columns_of(
    kinds: Mapping[str, _Kind],
) -> tuple[dict[str, Rows], dict[str, str], dict[str, _Kind]]:
    """The numbers of the lines looked at, in the order of the file."""
    found: dict[str, list[tuple[int, float]]] = {}
    sources: dict[str, str] = {}
    kept: dict[str, _Kind] = {}
    for template, kind in kinds.items():
        columns: dict[str, list[tuple[int, float]]] = {}
        for at, line, text in kind.listed():
            for name, one in placed(line, text):
                value = number(text[one.start : one.end])
                bare, _, factor = name.partition(TIMES)
                if value is not None:
                    value = round(value * float(factor), 6) if factor else value
                    columns.setdefault(bare, []).append((at, value))
                if bare.startswith("\0") and not bare.endswith(ALL):
                    sources.setdefault(bare, one.name or ("[#/#]" if one.total else ""))
        if not _worth_reading(columns):
            continue
        kept[template] = kind
        for name, values in columns.items():
            found.setdefault(name, []).extend(values)
    rows = {}
    for name, values in found.items():
        values.sort(key=lambda pair: pair[0])
        lines = np.array([line for line, _ in values], dtype=np.int64)
        rows[name] = Rows(lines, lines, np.array([value for _, value in values]))
    return rows, sources, kept


def _worth_reading(columns: Mapping[str, list[tuple[int, float]]]) -> bool:
    """Whether a kind of line holds a counter that moves or a signal known by name."""
    for name, values in columns.items():
        if name.startswith("\0") and name != RANK and not name.endswith(ALL):
            if len({value for _, value in values}) > 1 or name == EPOCH:
                return True
        elif not name.startswith("\0") and (_is_signal(name) or _is_role_with_values(name, values)):
            return True
    return False


def _is_role_with_values(name: str, values: list[tuple[int, float]]) -> bool:
    """Whether a role is given measurements and nothing said of what they are: `validation: 2.0088`."""
    fractions = any(value != np.floor(value) for _, value in values if np.isfinite(value))
    return ROLE_ALONE.fullmatch(name) is not None and len(values) >= FEWEST_LINES and fractions


def _is_measured(name: str) -> bool:
    """Whether a name is that of a loss or a metric."""
    return canonical(name).startswith(("loss", "val/", "train/"))


def _is_signal(name: str) -> bool:
    """Whether a name is that of a loss, a metric, a rate or a norm."""
    return _is_measured(name) or canonical(name).split("/")[0] in {"grad_norm", "lr"}


def _worth(name: str, rows: Rows) -> float:
    """How much a column says that this is a training log: 1 for a loss, less for others, 0 for nothing."""
    if len(rows) < FEWEST_LINES:
        return 0.0
    spoken = canonical(name)
    finite = rows.values[np.isfinite(rows.values)]
    if spoken.startswith(("loss", "val/loss")):
        return 1.0
    if name in _LOSS_LETTERS or spoken.startswith(("val/", "train/", "grad_norm")) or spoken == "lr":
        return 0.8
    # A number of no known name: it must vary, and have a fraction, to be a measurement.
    varied = len(np.unique(finite)) > 1 and bool((finite != np.floor(finite)).any())
    return 0.3 if varied and not _is_housekeeping(name) else 0.0


def _is_housekeeping(name: str) -> bool:
    spoken = canonical(name)
    tokens = set(_TOKEN.split(name.lower()))
    return (
        spoken.split("/")[0] in {"step_time", "data_time", "throughput", "mem", "runtime", "mfu", "epoch"}
        or bool(tokens & _NO_SIGNAL)
        or bool(
            tokens
            & {"time", "size", "memory", "speed", "took", "elapsed", "eta", "seconds", "loaded", "length"}
        )
    )


def _measures(kind: _Kind) -> bool:
    return any(_is_measured(name) for name, _ in placed(kind.lines[0], kind.texts[0]))


def _shown(kinds: Mapping[str, _Kind]) -> str:
    telling = {one: kind for one, kind in kinds.items() if _measures(kind)} or dict(kinds)
    template = max(telling, key=lambda one: (telling[one].count, -len(one)))
    return template if len(template) <= LONGEST_SHOWN else template[: LONGEST_SHOWN - 4] + " ..."


# --- one line -------------------------------------------------------------------------------------------


def _step_line(line: str, learned: _Learned) -> StepLine | None:
    """All numbers of a line that is of a kind known, or that names a signal."""
    if _SOURCE.search(line) or calls_with_settings(line):
        return None
    found = without_tag(about(parsed(line, learned.logger), learned.subjects), learned.tag)
    if not found.fields:
        return None
    fields = placed(found, line)
    measured = any(_is_measured(name) for name, _ in fields)
    if any(scales_in(line)) or (not measured and kind_of(line) is not None):
        return None  # what it announces is worth more than its numbers
    if found.template not in learned.templates:
        sure = [one for name, one in fields if _is_measured(name)]
        counts = any(name.startswith("\0") and name != RANK for name, _ in fields)
        if not sure or not (counts or all(one.joint in ":=" for one in sure)):
            return None
    counts_by = {name.partition(TIMES)[0] for name, _ in fields}
    if EPOCH in counts_by and not FINE & counts_by:
        # A summary of the epoch, under the name that the lines within the epoch have.
        fields = [(f"{name} epoch" if name in learned.stepped else name, one) for name, one in fields]
    values = tuple(distinct((name, one.start, one.end) for name, one in fields))
    if not values:
        return None
    if all(name.startswith("\0") for name, _, _ in values):
        role = heading_role(line, found.begins)
        return StepLine((*values, (HEADING, *values[0][1:]))) if role == HELD_OUT else StepLine(values)
    return StepLine((*values, (TOLD, *values[0][1:]))) if has_role(found) else StepLine(values)


# --- the series ---------------------------------------------------------------------------------------


def _assembled(rows: Mapping[str, Rows], learned: _Learned) -> Assembled:
    """The signals over the log's counter, without those that say nothing."""
    # A time that is not a number is a mean over no steps yet.
    timely = {
        name: held for name, held in rows.items() if not _is_time(name) or np.isfinite(held.values).all()
    }
    found = assembled(timely, learned.sources)
    points, empty = _told(found.points)
    counter = f"step from '{learned.counter}', " if learned.counter else ""
    how = f"({counter}sure: {learned.sureness:.1f})"
    notes = [f'a format not known here; its lines were read as "{learned.example}" {how}', *found.notes]
    if empty:
        shown = ", ".join(sorted(empty)[:5]) + (" ..." if len(empty) > 5 else "")
        notes.append(f"left out, because they are always 0 or only number things: {shown}")
    names = _spoken(points) | losses_by_numbers(points) | totals_of_terms(points)
    return replace(found, points=points, notes=tuple(notes), names=names)


def _is_time(name: str) -> bool:
    return canonical(name).split("/")[0] in {"step_time", "data_time", "throughput", "runtime", "mfu"}


def _told(points: Points) -> tuple[Points, list[str]]:
    """The points of series that measure something, and the names of the others."""
    kept, empty = Points(), []
    for name, held in points.values.items():
        values = np.asarray(held.array(), dtype=np.float64)
        zero = len(values) > 2 and not values.any() and not _is_measured(name)
        clock = len(values) > 1 and bool(((values > EARLIEST_TIME) & (values < LATEST_TIME)).all())
        clock = clock and not _is_measured(name)
        if zero or clock or set(_TOKEN.split(name.lower())) & _NO_SIGNAL:
            empty.append(name)
            continue
        steps = np.asarray(points.steps[name].array(), dtype=np.int64)
        kept.add_all(name, steps, values, points.axes[name], points.lines.get(name))
    return kept, empty


def _spoken(points: Points) -> dict[str, str]:
    """Names that are short for known ones: `tr-loss` and `va-loss`, and `L` where no other is the loss."""
    taken = {canonical(name) for name in points.steps}
    names = {}
    for name in points.steps:
        short, _, rest = name.replace("_", "-").replace(" ", "-").partition("-")
        roles = {**_ROLES, **_SPELLED_ROLES} if rest.lower() in _QUANTITIES else _ROLES
        rest = _QUANTITIES.get(rest.lower(), rest)
        full = canonical(f"{roles[short.lower()]} {rest}") if short.lower() in roles and rest else ""
        if full and full not in taken and known(full):
            names[name] = full
            taken.add(full)
    if not any(name.startswith("loss") for name in taken):
        names |= next(({name: "loss"} for name in _LOSS_LETTERS if name in points.steps), {})
    return names
