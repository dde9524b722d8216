"""icefall's training log (k2).

2022-05-15 10:00:00,123 INFO [train.py:895] Epoch 1, batch 50, global_batch_idx: 50, batch size: 32, \
loss[loss=0.52, simple_loss=1.04, over 1234.00 frames. ], tot_loss[loss=0.61, simple_loss=1.1, over 5678.00 \
frames. ], lr: 2.20e-03, grad_scale: 1.0
2022-05-15 10:09:00,123 INFO [train.py:930] Epoch 1, validation: loss=0.4013, over 944034.00 frames.

`loss[...]` is of the batch, `tot_loss[...]` a mean that fades over the batches before. Batches are counted
within the epoch; only some recipes print the global index, too.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.counting import BATCH, EPOCH, RANK, STEP, assembled
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.rows import RowReading

FORMAT = "icefall log"

_BATCH = re.compile(
    r"(?:\((?P<rank>\d{1,6})/\d+\) )?\bEpoch (?P<epoch>\d{1,9}), batch (?P<batch>\d{1,12}),"
    r"(?: global_batch_idx: (?P<step>\d{1,12}),)?"
)
_GROUP = re.compile(r"\b(?P<group>loss|tot_loss)\[(?P<inside>[^\]]{0,2000})\]")
_AVERAGES = re.compile(rf"\b(?P<name>batch avg loss|total avg loss):? (?P<value>{NUMBER})")
_VALIDATION = re.compile(
    r"\bEpoch (?P<epoch>\d{1,9}), (?:batch \d+, )?[Vv]alidation(?: result)?:\s*(?P<fields>.+)"
)

_STARTED = re.compile(r"^[\d-]+ [\d:,]+ INFO \[\w+\.py:\d+\].*\bTraining started\b", re.MULTILINE)


def recognise(head: Head) -> float:
    """Lines of `Epoch N, batch M, loss[...]` or of its validation."""
    if head.binary or head.prose:
        return 0.0
    found = sum(times for line, times in head.shapes if _step_line(line) is not None)
    if found == 0:  # a run that ended before its first batch
        return 0.5 if _STARTED.search(head.text) and "icefall" in head.text else 0.0
    return (0.7, 0.7, 0.8)[found] if found < 3 else 0.92


def begin(head: Head) -> RowReading:
    """Every batch and validation line."""
    sources = {BATCH: "batch", STEP: "global_batch_idx", EPOCH: "Epoch"}
    return RowReading(head, FORMAT, _step_line, assemble=lambda rows: assembled(rows, sources))


def _step_line(line: str) -> StepLine | None:
    if found := _VALIDATION.search(line):
        fields = [place for place in tight(line, found.start("fields")) if place[0] != "over"]
        if not fields:
            return None
        return StepLine(((EPOCH, *found.span("epoch")), *((f"valid {n}", s, e) for n, s, e in fields)))
    found = _BATCH.search(line)
    if found is None:
        return None
    values = [
        *_grouped(line),
        *((m["name"], *m.span("value")) for m in _AVERAGES.finditer(line, found.end())),
    ]
    if not values:
        return None
    last = max(end for _, _, end in values)
    rest = [place for place in tight(line, max(line.rfind("]"), last)) if place[0] != "size"]
    kinds = {"epoch": EPOCH, "batch": BATCH, "step": STEP, "rank": RANK}
    counts = [(kind, *found.span(group)) for group, kind in kinds.items() if found[group]]
    return StepLine((*counts, *values, *rest))


def _grouped(line: str) -> list[Place]:
    """What stands in loss[...] and, as an average, in tot_loss[...]."""
    return [
        (name if group["group"] == "loss" else f"average {name}", start, end)
        for group in _GROUP.finditer(line)
        for name, start, end in tight(line, *group.span("inside"))
    ]
