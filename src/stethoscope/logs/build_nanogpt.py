"""build-nanogpt: its log.txt, and what it prints.

0 val 10.9511
0 hella 0.2463
0 train 10.955029
step     0 | loss: 10.955029 | lr 4.2857e-07 | norm: 15.3660 | dt: 1001.50ms | tok/sec: 523506.51
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.fields import separated
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "build-nanogpt log"

_TERSE = re.compile(rf"(?P<step>\d{{1,12}}) (?P<name>train|val|hella) (?P<value>{NUMBER})\s*")
_PRINTED = re.compile(r"step\s+(?P<step>\d{1,12}) \| (?P<fields>loss: .*)")
_VALIDATION = re.compile(rf"validation loss: (?P<value>{NUMBER})\s*")
_NAMES = {"train": "train loss", "val": "val loss", "hella": "hella"}


def recognise(head: Head) -> float:
    """Lines of a step, a word and a value, or its printed lines."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every line of either kind."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    if terse := _TERSE.fullmatch(line):
        return StepLine(((_NAMES[terse["name"]], *terse.span("value")),), terse.span("step"))
    if printed := _PRINTED.fullmatch(line):
        return StepLine(tuple(separated(line, printed.start("fields"), "|")), printed.span("step"))
    if validation := _VALIDATION.fullmatch(line):
        return StepLine((("val loss", *validation.span("value")),))
    return None
