"""Transformer-XL, and PyTorch's word language model before it.

| epoch   1 step      200 |    200 batches | lr 6.67e-05 | ms/batch 742.71 | loss  8.90 | ppl  7366.806
| Eval   1 at step     4000 | time: 100.00s | valid loss  4.50 | valid ppl    90.017
| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.31 | loss  7.61 | ppl  2018.34
| end of epoch   1 | time: 40.11s | valid loss  5.52 | valid ppl   250.11
| End of training | test loss  4.91 | test ppl   135.11

The losses are means since the line before.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.fields import separated
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.meters import counted_from
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "Transformer-XL log"

_STEP = re.compile(r"\| epoch\s+\d{1,6} step\s+(?P<step>\d{1,12}) \|")
_BATCH = re.compile(r"\| epoch\s+(?P<epoch>\d{1,6}) \|\s*(?P<step>\d{1,9})/\s*(?P<length>\d{1,9}) batches \|")
_EVALUATED = re.compile(r"\| Eval\s+\d{1,9} at step\s+(?P<step>\d{1,12}) \|")
_ENDED = re.compile(r"\| (?:[Ee]nd of (?:epoch\s+\d{1,6}|training)) \|")


def recognise(head: Head) -> float:
    """Lines that begin with `| epoch N step M |` or `| epoch N | i/n batches |`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every training and evaluation line."""
    return TextReading(head, FORMAT, counted_from(_first_epoch(head), _step_line), Aggregation.WINDOW_MEAN)


def _first_epoch(head: Head) -> int:
    """The examples count their epochs from 1, and what was made of them from 0, too."""
    epochs = (int(found["epoch"]) for line, _ in head.shapes if (found := _BATCH.search(line)))
    return min([1, *epochs])


def _step_line(line: str) -> StepLine | None:
    if found := _STEP.search(line):
        return StepLine(tuple(separated(line, found.end(), "|")), found.span("step"))
    if found := _BATCH.search(line):
        values = tuple(separated(line, found.end(), "|"))
        epoch, length = found.span("epoch"), found.span("length")
        return StepLine(values, found.span("step"), epoch=epoch, epoch_length=length)
    found = _EVALUATED.search(line) or _ENDED.search(line)
    if found is None:
        return None
    values = tuple(place for place in separated(line, found.end(), "|") if place[0] != "time")
    return StepLine(values, found.span("step") if "step" in found.groupdict() else None)
