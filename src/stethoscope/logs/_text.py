"""Reads a text log line by line: a grammar takes the step lines, the rest is searched for events."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stethoscope.errors import UnreadableFile
from stethoscope.logs._clock import stamp_in_name, stamp_of
from stethoscope.logs._events import Scanner
from stethoscope.logs._head import Head
from stethoscope.logs._lines import LONGEST_RECORD, numbered_lines, plain
from stethoscope.logs._numbers import LAST_STEP
from stethoscope.logs._points import MAX_SERIES, Points
from stethoscope.run import Aggregation, Log

# A step, the values printed with it, and the announced number of steps.
StepLine = tuple[int, Iterable[tuple[str, float]], int | None]
# Reads a line, given the step of the last step line before it; None while it is not known to be this log's.
Grammar = Callable[[str, int | None], StepLine | None]


def step_lines(head: Head, grammar: Grammar, enough: int = 3) -> int:
    """How many step lines the ends of a file hold, counted up to `enough`."""
    if head.binary or head.prose:
        return 0
    found = 0
    for line in head.ends.replace("\r", "\n").split("\n"):
        found += grammar(plain(line[:LONGEST_RECORD]), None) is not None
        if found >= enough:
            break
    return found


def confidence(count: int) -> float:
    """How sure a reader is that has seen this many lines of its own."""
    return (0.0, 0.5, 0.7)[count] if count < 3 else 0.9


def read_text(head: Head, name: str, grammar: Grammar, aggregation: Aggregation = Aggregation.INSTANT) -> Log:
    """Read every line of a log whose step lines this grammar understands."""
    points, scanner = Points(), Scanner(head.file)
    step: int | None = None
    total: int | None = None
    started = last = None
    for number, whole_line in numbered_lines(head):
        line = whole_line[:LONGEST_RECORD]
        found = grammar(line, step or 0)
        if found is None:
            scanner.see(number, line, step)
            if line[:2] == "20" or line[:3] == "[20":
                last = stamp_of(line) or last
                started = started or last
            continue
        if abs(found[0]) > LAST_STEP:
            continue
        step, values, said = found
        total = said or total
        for signal, value in values:
            points.add(signal, step, value)
    if not points.steps:
        raise UnreadableFile(f"{head.file}: looks like {name}, but no step line could be read")
    return Log(
        head.file,
        name,
        points.series(head.file, aggregation),
        scanner.events(),
        started=started or stamp_in_name(head.path.name),
        last_written=last or head.changed,
        total_steps=total,
        notes=(f"more than {MAX_SERIES} names; the rest was passed over",) if points.dropped else (),
    )
