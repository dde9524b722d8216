r"""MMEngine's text log, and that of MMCV 1 before it: MMDetection, MMSegmentation, MMPose and their kin.

2023/01/01 12:00:00 - mmengine - INFO - Epoch(train)   [2][1/6]  lr: 1.2632e-03  eta: 3:48:34  time: 0.51  \
data_time: 0.1  memory: 3120  grad_norm: 12.3  loss: 0.361  loss_cls: 0.2
... - mmengine - INFO - Iter(train) [   50/80000]  base_lr: 1.0e-02  lr: 1.0e-02  eta: 3:10:01  loss: 2.3
... - mmengine - INFO - Epoch(val) [2][3/3]    coco/bbox_mAP: 0.3120  data_time: 0.02  time: 0.1
2021-05-01 10:00:00,123 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: 10:00:01, loss: 1.2
... - mmdet - INFO - Epoch(val) [1][5000]\tbbox_mAP: 0.1230, bbox_mAP_50: 0.2310

Losses are means over the last iterations. The settings are printed at the top.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.coco import reading_with_coco
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.meters import fields, held_out
from stethoscope.logs._text.reading import TextReading
from stethoscope.run.names import known

FORMAT = "MMEngine log"

_LINE = re.compile(
    r"\b(?P<unit>Epoch|Iter)\s*(?:\((?P<mode>\w{1,20})\))?\s*"
    r"\[\s*(?P<first>\d{1,12})(?:/\s*(?P<total>\d{1,12}))?\]"
    r"(?:\s?\[\s*(?P<step>\d{1,12})(?:/\s*(?P<length>\d{1,12}))?\])?\s+"
)


def recognise(head: Head) -> float:
    """Lines of `Epoch(train) [1][50/7330]` or `Iter [50/80000]` and named values."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every training line, each validation's results, and what COCO's evaluation printed."""
    return reading_with_coco(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.search(line)
    if found is None:
        return None
    if found["mode"] not in {None, "train"}:
        values = _scores(line, found.end())
        return StepLine(values) if values else None
    values = tuple(fields(line, found.end()))
    if not any(known(name) for name, _, _ in values):
        return None
    if found["unit"] == "Iter" and found["step"] is None:
        return StepLine(values, found.span("first"), found.span("total") if found["total"] else None)
    if found["step"] is None or found["length"] is None:
        return None
    epoch, length = found.span("first"), found.span("length")
    return StepLine(values, found.span("step"), epoch=epoch, epoch_length=length, first_epoch=1)


def _scores(line: str, start: int) -> tuple[Place, ...]:
    """The results of a validation; a line with no more than times and memory shows its progress."""
    return tuple(place for place in held_out(line, start) if not _says_nothing(line, place))


def _says_nothing(line: str, place: Place) -> bool:
    """Values to be copied into a table, of which only the first is seen; a precision of -1, of no objects."""
    name, first, _ = place
    return "copypaste" in name or (line[first] == "-" and ("AP" in name or "AR" in name))
