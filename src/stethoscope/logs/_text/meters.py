"""Lines of meters: a name, the value and its mean, as AverageMeter and MetricLogger print them.

    Time  0.312 ( 0.514)  Data 0.001 ( 0.2)  Loss 7.0108e+00 (7.0323e+00)  Acc@1   0.00 (  0.12)
    eta: 1:00:00  lr: 0.5  loss: 6.9 (7.0)  acc1: 0.0 (0.1)  time: 0.3  data: 0.1  max mem: 1000

Of a training line, the value counts; of a line of validation, the mean over the batches so far, the last of
which is the mean over all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER, number
from stethoscope.logs._text.finish import Finished, with_validations_ended, without_placeholders
from stethoscope.logs._text.grammar import Grammar, Place, StepLine
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, known

_WORD = r"[A-Za-z_][\w@./%-]*+"
_FIELD = re.compile(
    rf"(?<![\w.:@/%-])(?P<name>{_WORD}(?: {_WORD}){{0,2}}?)(?:\s*+[:=]\s*+|\s++)(?P<value>{NUMBER})"
    r"(?P<unit>ms|s|[KMGT]i?B?|%)?(?![\w:.])"
    rf"(?:\s*+\(\s*+(?P<mean>{NUMBER}))?"
)
_CLOCKS = frozenset({"eta", "elapsed", "remaining"})
_SPOKEN = {
    "time": "time",
    "batch_time": "time",
    "batch time": "time",
    "data": "data_time",
    "data time": "data_time",
    "data load time": "data_time",
}

_TEST = re.compile(
    r"\b(?:Test|Val|Valid|Validation|Eval|Evaluation)(?P<more>:? ?\(?EMA\)?)?:?\s+\[\s*\d+/\s*\d+\]"
)
_SUMMARY = re.compile(r"(?:^|[\s:])(?:\*\s+|Test:(?P<ema> EMA)?\s+)(?=[A-Z][a-z]*\b)")


def fields(line: str, start: int = 0, means: bool = False) -> Iterator[Place]:
    """The meters of a line: their values, or their means where asked for and printed."""
    seen = set()
    for found in _FIELD.finditer(line, start):
        name = _SPOKEN.get(found["name"].lower(), found["name"])
        group = "mean" if means and found["mean"] is not None else "value"
        value = number(found[group])
        if value is None or name in seen or name.lower() in _CLOCKS:
            continue
        if found["unit"] in {"ms", "s"} and not math.isfinite(value):
            continue  # a mean over no steps yet
        seen.add(name)
        yield (name, *found.span(group))


def meters(train: re.Pattern[str]) -> Grammar:
    """The grammar of a loop whose training lines this pattern finds (groups epoch, step and length)."""

    def step_line(line: str) -> StepLine | None:
        if found := train.search(line):
            values = tuple(fields(line, found.end()))
            epoch, length = found.span("epoch"), found.span("length")
            return StepLine(values, found.span("step"), epoch=epoch, epoch_length=length) if values else None
        return _validation(line)

    return step_line


def begin_meters(head: Head, name: str, train: re.Pattern[str], aggregation: Aggregation) -> Finished:
    """Read a log of meters."""
    text = TextReading(head, name, counted_from(first_epoch(head, train), meters(train)), aggregation)
    return Finished(text, (with_validations_ended, without_placeholders))


def first_epoch(head: Head, train: re.Pattern[str]) -> int:
    """What the log calls its first epoch: 1 where that is the lowest seen, else 0."""
    epochs = [int(found["epoch"]) for line, _ in head.shapes if (found := train.search(line))]
    return 1 if min(epochs, default=0) == 1 else 0


def counted_from(first: int, grammar: Grammar) -> Grammar:
    """The same grammar for a log that begins with this epoch."""

    def step_line(line: str) -> StepLine | None:
        found = grammar(line)
        return replace(found, first_epoch=first) if found else None

    return step_line


def _validation(line: str) -> StepLine | None:
    """A line of validation, or its summary `* Acc@1 71.2 Acc@5 90.1`, at the last step of training."""
    if found := _TEST.search(line):
        values = tuple(held_out(line, found.end(), averaged="EMA" in (found["more"] or "")))
    elif found := _SUMMARY.search(line):
        # What timm has in parentheses here is the error.
        values = tuple(held_out(line, found.end(), averaged=bool(found["ema"]), means=False))
        if not any(known(name) for name, _, _ in values):
            return None  # any other list of things
    else:
        return None
    return StepLine(values) if values else None


_NOT_SCORES = frozenset({"step_time", "data_time", "runtime", "throughput", "lr", "mem"})


def held_out(line: str, start: int, averaged: bool = False, means: bool = True) -> Iterator[Place]:
    """The meters of a line of validation, marked as such, and as of the `averaged` weights where they are."""
    for name, first, end in fields(line, start, means):
        # How fast it went is no score.
        if canonical(name) not in _NOT_SCORES and not name.lower().endswith("time"):
            yield (f"val/ema/{name}" if averaged else f"val/{name}", first, end)
