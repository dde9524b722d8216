"""The summary that COCO's evaluation prints, whoever called it.

IoU metric: bbox
 Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.420
 Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.624
 Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 0.311

A value of -1 says that there was nothing to measure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.logs._reading.events import may_announce
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.grammar import Grammar
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

_TASK = re.compile(r"(?:IoU metric: |annotation type \*|Evaluating )(?P<task>bbox|segm|keypoints)\b")
_WORDS = ("Average ", "IoU metric", "annotation type", "Evaluating ")
_VALUE = re.compile(
    r"Average (?:Precision|Recall)\s+\((?P<kind>AP|AR)\) @\[ IoU=(?P<low>[\d.]{1,6})(?P<range>:[\d.]{1,6})?"
    r"\s*\| area=\s*(?P<area>\w{1,10})\s*\| maxDets=\s*(?P<most>\d{1,6})\s*\] = (?P<value>-?[\d.]{1,12})"
)


def reading_with_coco(head: Head, form: str, grammar: Grammar) -> TextReading:
    """Reads a log of mean losses whose program may print the summary among its lines."""
    return TextReading(head, form, grammar, Aggregation.WINDOW_MEAN, _CocoSummary().see, _wanted)


def _wanted(line: str) -> bool:
    return any(words in line for words in _WORDS) or may_announce(line)


@dataclass(slots=True)
class _CocoSummary:
    """Which kind of result the lines speak of; the first kind met speaks for the model."""

    task: str = ""
    first: str | None = None

    def see(self, points: Points, at: int, line: str, step: int | None) -> bool:
        """Note the value of a line; False for a line of another kind."""
        if named := _TASK.search(line):
            self.task = named["task"]
            return True
        found = _VALUE.search(line)
        if found is None:
            return False
        self.first = self.task if self.first is None else self.first
        value = number(found["value"])
        if value is not None and value >= 0:
            task = "" if self.task == self.first else f"{self.task}_"
            points.add(f"val/{task}{_name(found)}", step or 0, value, at)
        return True


def _name(found: re.Match[str]) -> str:
    """mAP, mAP_50, mAP_small, AR_100, AR_small."""
    area = "" if found["area"] == "all" else f"_{found['area']}"
    if found["kind"] == "AR":
        return f"AR{area or '_' + found['most']}"
    threshold = "" if found["range"] else "_" + found["low"].removeprefix("0.").ljust(2, "0")
    return f"mAP{threshold}{area}"
