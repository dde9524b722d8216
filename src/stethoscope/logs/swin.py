r"""Swin Transformer's log, and those of SimMIM, Swin-like classifiers and their forks.

[2023-07-27 14:12:25 swin_tiny] (main.py 226): INFO Train: [0/150][20/924]\teta 0:00:44 lr 0.000000\t \
wd 0.0500\ttime 0.0322 (0.0498)\tloss 7.0012 (7.0090)\tgrad_norm 2.4512 (2.6000)\tloss_scale 65536.0 (65536.0)
[...] (main.py 293): INFO Test: [0/28]\tTime 0.531 (0.531)\tLoss 6.9120 (6.9120)\tAcc@1 0.000 (0.000)
[...] (main.py 300): INFO  * Acc@1 0.123 Acc@5 0.561

Without mixed precision, it prints a gradient norm and a scale of 0.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.finish import Finished
from stethoscope.logs._text.grammar import confidence, step_lines
from stethoscope.logs._text.meters import begin_meters, meters
from stethoscope.run import Aggregation

FORMAT = "Swin log"

_TRAIN = re.compile(
    r"\bTrain: \[(?P<epoch>\d{1,6})/\d{1,6}\]\s?\[\s*(?P<step>\d{1,9})/\s*(?P<length>\d{1,9})\]\s"
)


def recognise(head: Head) -> float:
    """Lines that count epochs and batches as `Train: [0/150][20/924]`."""
    return confidence(step_lines(head, meters(_TRAIN)))


def begin(head: Head) -> Finished:
    """Every training line, and each validation's end."""
    return begin_meters(head, FORMAT, _TRAIN, Aggregation.INSTANT)
