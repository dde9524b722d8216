"""detectron2's log, and that of maskrcnn-benchmark before it.

[07/15 12:00:00 d2.utils.events]:  eta: 1:00:00  iter: 19  total_loss: 1.2  loss_cls: 0.5  time: 0.2512  \
data_time: 0.0121  lr: 0.00039962  max_mem: 3012M
2019-01-01 10:00:00,123 maskrcnn_benchmark.trainer INFO: eta: 1:00:00  iter: 20  loss: 1.2 (1.4)  \
lr: 0.001000  max mem: 3012
[07/15 12:30:00 d2.evaluation.testing]: copypaste: Task: bbox
[07/15 12:30:00 d2.evaluation.testing]: copypaste: AP,AP50,AP75,APs,APm,APl
[07/15 12:30:00 d2.evaluation.testing]: copypaste: 37.9251,58.8012,41.1022,21.1,41.2,49.9

Losses are medians over the last 20 iterations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.logs._reading.events import may_announce
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.meters import fields
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "detectron2 log"

_LINE = re.compile(r"(?:^|\s)iter: (?P<step>\d{1,12})\s\s+(?=[a-z].{0,200}?loss\w{0,40}: )")
_COPIED = re.compile(r"\bcopypaste: (?P<told>\S.*)")


def recognise(head: Head) -> float:
    """Lines of `iter: N  total_loss: ...` with two blanks between the values."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every iteration line, and the results printed to be copied."""
    return TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, _Scores().see, _wanted)


def _wanted(line: str) -> bool:
    return "copypaste: " in line or may_announce(line)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.search(line)
    return StepLine(tuple(fields(line, found.end())), found.span("step")) if found else None


@dataclass(slots=True)
class _Scores:
    """Three lines: the task, the names, the values. The first task speaks for the model."""

    task: str = ""
    first: str | None = None
    names: tuple[str, ...] = ()

    def see(self, points: Points, at: int, line: str, step: int | None) -> bool:
        """Read one of the lines; False for a line of another kind."""
        found = _COPIED.search(line)
        if found is not None:
            self._read(points, at, found["told"].strip(), step)
        return found is not None

    def _read(self, points: Points, at: int, told: str, step: int | None) -> None:
        if told.startswith("Task: "):
            self.task = told.removeprefix("Task: ").strip()
            self.first = self.first or self.task
            return
        values = [number(one) for one in told.split(",")]
        if any(value is None for value in values):
            self.names = tuple(told.split(","))
            return
        task = "" if self.task == self.first else f"{self.task}_"
        for name, value in zip(self.names, values, strict=False):
            # Of what was not there to be found, the score is not a number.
            if value is not None and value == value and name.isidentifier():
                points.add(f"val/{task}{name}", step or 0, value, at)
        self.names = ()
