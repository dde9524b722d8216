"""Darknet (YOLO) on the console.

Region 82 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.537247, .5R: -nan, .75R: -nan,  count: 0
 3: 1117.985962, 1118.461182 avg, 0.000000 rate, 0.120866 seconds, 3 images
 1000: 1.934, 2.011 avg loss, 0.001000 rate, 5.2 seconds, 64000 images, 3.5 hours left
 mean_average_precision (mAP@0.50) = 0.553211

The lines of a region are means over the objects that fell to it: without any (count 0) they are -nan, which
says nothing about the training, so they are not read.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "Darknet log"

_STEP = re.compile(
    rf"\s*(?P<step>\d{{1,12}}): (?P<loss>-?{NUMBER}), (?P<mean>-?{NUMBER}) avg(?: loss)?, "
    rf"(?P<rate>{NUMBER}) rate, (?P<time>{NUMBER}) seconds, \d+ images"
)
_PRECISION = re.compile(rf"\s*mean_average_precision \(mAP@0?\.?\d+\) = (?P<map>{NUMBER})")


def recognise(head: Head) -> float:
    """Lines of a step with its loss, its mean and the rate."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every step, and the precisions between."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    if found := _STEP.match(line):
        named = {"loss": "loss", "mean": "loss avg", "rate": "learning rate", "time": "step time"}
        return StepLine(
            tuple((name, *found.span(group)) for group, name in named.items()), found.span("step")
        )
    found = _PRECISION.match(line)
    return StepLine((("val mAP", *found.span("map")),)) if found else None
