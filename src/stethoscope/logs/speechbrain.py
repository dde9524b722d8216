"""SpeechBrain's train_log.txt, and what it prints: one line an epoch, and bars with the mean loss so far.

epoch: 2, lr: 1.00e+00 - train loss: 1.39 - valid loss: 1.26, valid PER: 33.52
speechbrain.utils.train_logger - epoch: 19, lr: 3.58e-05, steps: 33991 - train loss: 5.4e-02 - valid loss: 6
Epoch loaded: 20 - test loss: 1.11e-01, test CER: 1.83
speechbrain.utils.epoch_loop - Going into epoch 19
 35%|###5      | 626/1789 [45:51<1:25:15,  4.40s/it, train_loss=0.0549]
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.counting import ALL, EPOCH, POSITION, assembled
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.rows import Assembled, RowReading, Rows
from stethoscope.run import Aggregation

FORMAT = "SpeechBrain log"

_EPOCH_LINE = re.compile(
    r"(?:^|[\s-])[Ee]poch: (?P<epoch>\d{1,9})(?=[,\s])(?P<fields>.* - (?:train|valid) .+)"
)
_TESTED = re.compile(r"(?:^|[\s-])Epoch loaded: (?P<epoch>\d{1,9})(?P<fields> - test .+)")
_NAMED = re.compile(rf"(?P<name>[A-Za-z][\w.-]{{0,60}}(?: [\w.-]{{1,60}})?): (?P<value>{NUMBER})(?=[,\s]|$)")
_ENTERED = re.compile(r"\bGoing into epoch (?P<epoch>\d{1,9})\b")
_BAR = re.compile(
    r"\s*\d{1,3}%\|[^|]{0,400}\| (?P<done>\d{1,12})/(?P<all>\d{1,12}) "
    r"\[[^\]]{1,60}, (?P<fields>train_loss=[^\]]{1,400})\]"
)


def recognise(head: Head) -> float:
    """Lines of an epoch with its training and validation between dashes."""
    if head.binary or head.prose:
        return 0.0
    lines = sum(t for line, t in head.shapes if _EPOCH_LINE.search(line) or _TESTED.search(line))
    others = any(_ENTERED.search(line) for line, _ in head.shapes)
    return 0.9 if lines > 1 or others else 0.6 if lines else 0.0


def begin(head: Head) -> RowReading:
    """Every epoch, and the bars between."""
    return RowReading(head, FORMAT, _step_line, Aggregation.RUNNING_MEAN, assemble=_assembled)


def _assembled(rows: Mapping[str, Rows]) -> Assembled:
    return assembled(rows, {EPOCH: "epoch", POSITION: "the bar"}, first_epoch=1)


def _step_line(line: str) -> StepLine | None:
    if bar := _BAR.match(line):
        counts: tuple[Place, ...] = ((POSITION, *bar.span("done")), (POSITION + ALL, *bar.span("all")))
        return StepLine((*counts, *tight(line, *bar.span("fields"))))
    if entered := _ENTERED.search(line):
        return StepLine(((EPOCH, *entered.span("epoch")),))
    found = _EPOCH_LINE.search(line) or _TESTED.search(line)
    if found is None:
        return None
    values = [(m["name"], *m.span("value")) for m in _NAMED.finditer(line, found.start("fields"))]
    return StepLine(((EPOCH, *found.span("epoch")), *values))
