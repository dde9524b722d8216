"""What fastai prints where no notebook and no terminal shows its table: a list for every epoch.

[0, 0.4206571578979492, 0.2668323516845703, 0.90625, '00:05']

The columns are the epoch, the losses of training and validation, the metrics in the order they were given,
and the time. The names of the metrics are not printed.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "fastai lists"

_ROW = re.compile(
    rf"\s*\[(?P<epoch>\d{{1,9}}), (?P<values>(?:{PLAIN_NUMBER}|None)(?:, (?:{PLAIN_NUMBER}|None)){{0,40}}), "
    r"'\d+:\d\d(?::\d\d)?'\]\s*"
)
_VALUE = re.compile(rf"{PLAIN_NUMBER}|None")
_NAMES = ("train_loss", "valid_loss")


def recognise(head: Head) -> float:
    """Lists of an epoch, numbers and a time."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every epoch."""
    return TextReading(head, FORMAT, _step_line, Aggregation.RUNNING_MEAN)


def _step_line(line: str) -> StepLine | None:
    found = _ROW.fullmatch(line)
    if found is None:
        return None
    start = found.start("values")
    values = tuple(
        (_name(place), start + value.start(), start + value.end())
        for place, value in enumerate(_VALUE.finditer(found["values"]))
        if value[0] != "None"
    )
    return StepLine(values, found.span("epoch"), axis="epoch")


def _name(place: int) -> str:
    return _NAMES[place] if place < len(_NAMES) else f"metric {place - len(_NAMES)}"
