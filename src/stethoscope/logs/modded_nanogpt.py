"""modded-nanogpt's log: the trainer's own source first, then one line per step.

step:0/5100 val_loss:15.9936 train_time:227ms step_avg:nanms
step:1/5100 train_loss:15.9929 train_time:1368ms step_avg:nanms
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "modded-nanogpt log"

_LINE = re.compile(r"step:(?P<step>\d{1,12})/(?P<total>\d{1,12}) (?P<fields>.*)")


def recognise(head: Head) -> float:
    """Lines that begin with `step:N/M`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every step line."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.match(line)
    if found is None:
        return None
    return StepLine(tuple(tight(line, found.start("fields"))), found.span("step"), found.span("total"))
