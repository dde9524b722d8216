"""timm's train.py.

Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.94)  Time: 0.21s, 1219.05/s  (0.24s, 1066.67/s)  LR: 1.000e-06  \
Data: 0.012 (0.050)
Test: [  48/48]  Time: 0.081 (0.120)  Loss:   6.891 ( 6.901)  Acc@1:   0.500 (  0.320)  Acc@5:   1.5 (  1.410)
Test (EMA): [  48/48]  Time: 0.081 (0.120)  Loss:   6.893 ( 6.902)  Acc@1:   0.400 (  0.310)
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.finish import Finished
from stethoscope.logs._text.grammar import confidence, step_lines
from stethoscope.logs._text.meters import begin_meters, meters
from stethoscope.run import Aggregation

FORMAT = "timm log"

_TRAIN = re.compile(
    r"\bTrain: (?P<epoch>\d{1,6}) \[\s*(?P<step>\d{1,9})/(?P<length>\d{1,9})\s+\(\s*\d{1,3}%\)[^\]]{0,40}\]"
)


def recognise(head: Head) -> float:
    """Lines that count epochs and updates as `Train: 0 [  50/1251 (  4%)]`."""
    return confidence(step_lines(head, meters(_TRAIN)))


def begin(head: Head) -> Finished:
    """Every training line, and each validation's end."""
    return begin_meters(head, FORMAT, _TRAIN, Aggregation.INSTANT)
