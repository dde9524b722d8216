"""ESPnet2's train.log.

[host] 2022-05-15 10:00:00,123 (trainer:737) INFO: 4epoch:train:1-50batch: iter_time=1.18e-04, \
forward_time=0.156, loss_ctc=90.1, loss=80.3, acc=0.213, optim0_lr0=5.000e-07, train_time=0.912
[host] 2022-05-15 11:00:00,123 (trainer:338) INFO: 4epoch results: [train] iter_time=1.2e-04, loss=79.8, \
time=58.47 seconds, total_count=5000, [valid] loss=61.2, acc=0.31, time=5.1 seconds, total_count=61

A line of training is the mean over the batches it names, which are counted within the epoch.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._text.counting import BATCH, EPOCH, assembled
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.rows import RowReading
from stethoscope.run import Aggregation

FORMAT = "ESPnet log"

_BATCHES = re.compile(
    r"\b(?P<epoch>\d{1,9})epoch:train:(?:\d{1,12}-)?(?P<batch>\d{1,12})batch: (?P<fields>.+)"
)
_RESULTS = re.compile(r"\b(?P<epoch>\d{1,9})epoch results: (?P<fields>\[.+)")
_PART = re.compile(r"\[(?P<part>[\w.-]{1,60})\](?P<inside>[^\[]*)")
_NO_SIGNALS = frozenset({"total_count", "time"})

_STARTED = re.compile(r"\b\d+/\d+epoch started\b|\bespnet2\.bin\.\w+_train\b|/espnet2/bin/\w+_train\.py\b")


def recognise(head: Head) -> float:
    """Lines of `Nepoch:train:` or `Nepoch results:`."""
    if head.binary or head.prose:
        return 0.0
    found = sum(times for line, times in head.shapes if _step_line(line) is not None)
    if found == 0:  # a run that ended before its first report
        return 0.5 if _STARTED.search(head.ends) else 0.0
    return (0.8, 0.8, 0.9)[found] if found < 3 else 0.95


def begin(head: Head) -> RowReading:
    """Every line of training, and the results of every epoch."""
    sources = {BATCH: "batch", EPOCH: "epoch"}
    return RowReading(
        head,
        FORMAT,
        _step_line,
        Aggregation.WINDOW_MEAN,
        assemble=lambda rows: assembled(rows, sources, first_epoch=1),
    )


def _step_line(line: str) -> StepLine | None:
    if found := _BATCHES.search(line):
        counts: tuple[Place, ...] = ((EPOCH, *found.span("epoch")), (BATCH, *found.span("batch")))
        return StepLine((*counts, *tight(line, found.start("fields"))))
    found = _RESULTS.search(line)
    if found is None:
        return None
    values = [
        (_named(part["part"], name), start, end)
        for part in _PART.finditer(line, found.start("fields"))
        for name, start, end in tight(line, *part.span("inside"))
        if name not in _NO_SIGNALS
    ]
    return StepLine(((EPOCH, *found.span("epoch")), *values))


def _named(part: str, name: str) -> str:
    """The results of training are means over the epoch, beside the lines within it."""
    return f"{name} epoch" if part == "train" else f"{part} {name}"
