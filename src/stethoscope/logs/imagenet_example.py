r"""The ImageNet example of PyTorch, and the many training scripts that grew from it.

Epoch: [0][  10/5005]\tTime  0.312 ( 0.514)\tData  0.001 ( 0.201)\tLoss 7.0108e+00 (7.0323e+00)\t\
Acc@1   0.00 (  0.12)
Test: [  0/196]\tTime  2.512 ( 2.512)\tLoss 6.8e+00 (6.8e+00)\tAcc@1   0.78 (  0.78)\tAcc@5   2.34 (  2.34)
 *   Acc@1 0.520 Acc@5 2.120
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.finish import Finished
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.meters import begin_meters, meters
from stethoscope.run import Aggregation

FORMAT = "AverageMeter log"

_TRAIN = re.compile(
    r"\b(?:[Ee]poch|[Tt]rain(?:ing)?)(?: Epoch)?:?\s?\[\s*(?P<epoch>\d{1,6})(?:/\d{1,6})?\]\s?"
    r"\[\s*(?P<step>\d{1,9})/\s*(?P<length>\d{1,9})\]"
)
_MEAN = re.compile(r"\d\s*\(\s*[-+]?\d")


def recognise(head: Head) -> float:
    """Lines that count epochs and batches in brackets, with means in parentheses."""
    # Frameworks that print such lines, too, have marks of their own.
    return 0.9 * confidence(step_lines(head, _step_line))


def begin(head: Head) -> Finished:
    """Every training line, and each validation's end."""
    return begin_meters(head, FORMAT, _TRAIN, Aggregation.INSTANT)


def _step_line(line: str) -> StepLine | None:
    return _METERS(line) if _MEAN.search(line) else None


_METERS = meters(_TRAIN)
