"""nanochat's console log; the loss it prints is a running mean.

step 00012/16704 (0.07%) | loss: 10.398912 | lrm: 1.00 | dt: 685.22ms | tok/sec: 764,514 | mfu: 50.10
Step 00250 | Validation bpb: 1.024311
Step 02000 | CORE metric: 0.1514
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.fields import separated
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "nanochat log"

_LINE = re.compile(
    r"[Ss]tep (?P<step>\d{5,12})(?:/(?P<total>\d{1,12}))?(?: \([\d.]+%\))? \| (?P<fields>[A-Za-z][^|]*: .*)"
)


def recognise(head: Head) -> float:
    """Lines that begin with `step` and a number of five digits, then values between bars."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every training and evaluation line."""
    return TextReading(head, FORMAT, _step_line, Aggregation.RUNNING_MEAN)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        return None
    total = found.span("total") if found["total"] else None
    return StepLine(tuple(separated(line, found.start("fields"), "|")), found.span("step"), total)
