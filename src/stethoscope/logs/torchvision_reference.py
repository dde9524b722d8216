"""MetricLogger's lines: torchvision's references, DETR, DeiT, MAE, DINO, BEiT, BLIP.

Epoch: [0]  [  10/5004]  eta: 1:00:12  lr: 0.500000  img/s: 101.2  loss: 6.9 (7.0)  acc1: 0.0 (0.1)  \
time: 0.3  data: 0.1  max mem: 1000
Test:  [  0/196]  eta: 0:00:20  loss: 6.8 (6.8)  acc1: 0.7 (0.7)  time: 0.5  data: 0.3  max mem: 1000
* Acc@1 0.520 Acc@5 2.120 loss 6.801
mean IoU: 45.1

A value is the median of the last 20 steps, and the mean since the epoch began stands in parentheses.
"""

from __future__ import annotations

import re
from dataclasses import replace

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.coco import reading_with_coco
from stethoscope.logs._text.finish import Finished, with_validations_ended, without_placeholders
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.meters import counted_from, first_epoch, meters

FORMAT = "MetricLogger log"

_TRAIN = re.compile(
    r"\b(?:[Ee]poch|[Tt]rain(?:ing)?):? \[(?P<epoch>\d{1,6})(?:/\d{1,6})?\]:?\s+"
    r"\[\s*(?P<step>\d{1,9})/(?P<length>\d{1,9})\]\s+(?=eta: )"
)
_SCORES = re.compile(rf"(?P<name>mean IoU|global correct): (?P<value>{NUMBER})\s*")


def recognise(head: Head) -> float:
    """Lines that count epochs and batches as `Epoch: [0]  [  10/5004]  eta:`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> Finished:
    """Every training line, each validation's end, and what COCO's evaluation printed."""
    text = reading_with_coco(head, FORMAT, counted_from(first_epoch(head, _TRAIN), _step_line))
    return Finished(text, (with_validations_ended, without_placeholders))


def _step_line(line: str) -> StepLine | None:
    if scores := _SCORES.fullmatch(line):
        return StepLine(((f"val/{scores['name']}", *scores.span("value")),))
    found = _METERS(line)
    if found is None:
        return None
    values = ((_SPOKEN.get(name, name), start, end) for name, start, end in found.values)
    return replace(found, values=tuple(values))


# The summary and the lines before it name one thing.
_SPOKEN = {"val/Acc@1": "val/acc1", "val/Acc@5": "val/acc5"}
_METERS = meters(_TRAIN)
