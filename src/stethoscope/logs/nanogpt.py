"""nanoGPT's console log.

    iter 10: loss 3.2451, time 12.34ms, mfu 1.02%
    step 250: train loss 1.9642, val loss 2.0021

The `step` line gives both losses evaluated over many batches; the training one is `train/loss` beside `loss`.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.fields import separated
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "nanoGPT log"

_LINE = re.compile(
    r"\s*(?:\[[^\]]{1,40}\]:?\s*)?(?P<kind>iter|step)\s+(?P<step>\d{1,12}):\s+(?P<fields>.*\bloss\s+[-\dniNI].*)"
)
_EVALUATED = {"train loss": "train/loss", "val loss": "val/loss"}


def recognise(head: Head) -> float:
    """Lines that begin with `iter N: loss` or `step N: train loss`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every iteration and evaluation line."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.match(line)
    if found is None:
        return None
    values = tuple(
        (_EVALUATED.get(name, name), start, end)
        for name, start, end in separated(line, found.start("fields"), ",")
    )
    return StepLine(values, found.span("step")) if values else None
