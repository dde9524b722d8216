"""What the PaddlePaddle suites print: PaddleSeg, PaddleGAN, PaddleDetection, PaddleClas, PaddleOCR.

2022-05-30 19:01:53 [INFO]	[TRAIN] epoch: 0, iter: 60/30000, loss: 2.7774, lr: 0.000100, \
batch_cost: 4.0891, reader_cost: 2.82881, ips: 0.9782 samples/sec | ETA 34:00:26
2022-05-31 12:02:12 [INFO]	[EVAL] #Images: 72, Dice: 0.7657, Loss: 0.239810
[04/14 10:00:00] ppgan.engine.trainer INFO: Iter: 10/1000000 lr: 2.000e-04 loss_pixel: 0.031 batch_cost: 0.5
[04/14 10:00:00] ppgan.engine.trainer INFO: Metric psnr: 27.1011
[04/14 10:00:00] ppdet.engine INFO: Epoch: [0] [ 20/100] learning_rate: 0.0004 loss: 3.811 batch_cost: 0.5
[2021/09/01 10:00:00] root INFO: epoch: [1/500], global_step: 10, lr: 0.001, acc: 0.1, loss: 21.3, ips: 100.1
[Train][Epoch 1/100][Iter: 10/500]lr: 0.001, top1: 0.1, CELoss: 7.0, loss: 7.0, batch_cost: 0.2s, ips: 320.1

The five count in five ways and name alike. A loss printed as 220126996736552716516472320425984.000 is one.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.counting import assembled
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.pairs import Parsed, parsed
from stethoscope.logs._text.roles import distinct, placed
from stethoscope.logs._text.rows import RowReading
from stethoscope.run import Aggregation

FORMAT = "PaddlePaddle log"

_TRAINED = re.compile(
    r"\b(?:batch_cost|reader_cost|ips|avg_batch_cost): ?[\d.]|\[Train\]\[Epoch"
    r"|global step \d+, epoch: \d+, batch: \d+, loss:"
)
_EVALUATED = re.compile(r"\[EVAL\] #|\[Eval\]\[Epoch \d+\]\[Avg\]|\bMetric \w+: |\bcur metric, ")
_NO_SIGNALS = re.compile(r"#?Images$|eta$|max_mem", re.IGNORECASE)
_SOURCES = {"\0step": "iter", "\0epoch": "epoch", "\0position": "[#/#]", "\0batch": "batch"}


def recognise(head: Head) -> float:
    """Lines with a cost per batch or images per second beside a counter and a loss."""
    if head.binary or head.prose:
        return 0.0
    found = sum(
        times for line, times in head.shapes if _TRAINED.search(line) and _step_line(line) is not None
    )
    return (0.0, 0.5, 0.7)[found] if found < 3 else 0.85


def begin(head: Head) -> RowReading:
    """Every line of training and evaluation."""
    return RowReading(
        head,
        FORMAT,
        _step_line,
        Aggregation.WINDOW_MEAN,
        assemble=lambda rows: assembled(rows, _SOURCES),
    )


def _step_line(line: str) -> StepLine | None:
    evaluated = _EVALUATED.search(line)
    if not evaluated and not _TRAINED.search(line):
        return None
    found = parsed(line)
    if evaluated:
        fields = tuple(one for one in found.fields if one.start >= evaluated.end() - 1)
        found = Parsed(fields, evaluated.end() if fields else found.begins, None, "")
    places = [(name, one.start, one.end) for name, one in placed(found, line) if not _NO_SIGNALS.search(name)]
    if evaluated:
        places = [(_of_evaluation(name), start, end) for name, start, end in places]
    measured = any(not name.startswith("\0") for name, _, _ in places)
    counted = any(name.startswith("\0") for name, _, _ in places)
    return StepLine(tuple(distinct(places))) if measured and (counted or evaluated) else None


def _of_evaluation(name: str) -> str:
    name = name.removeprefix("Metric ").removeprefix("cur metric ")
    return name if name.startswith(("\0", "val ", "eval ")) else f"eval {name}"
