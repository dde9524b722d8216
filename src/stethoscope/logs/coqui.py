"""What Coqui's trainer prints: blocks of values below a line with the step.

 > EPOCH: 3/1000
   --> TIME: 2022-05-15 10:00:00 -- STEP: 24/100 -- GLOBAL_STEP: 325
     | > loss_disc: 3.01874  (3.46002)
     | > current_lr_0: 0.00020
  --> EVAL PERFORMANCE
     | > avg_loss: 2.41011 (-0.03010)

In brackets is the running mean, and below an evaluation the change since the last one. The batches of an
evaluation are printed, too, under a step of their own; its performance is their mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.counting import EPOCH, STEP, assembled
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.rows import Assembled, Places, RowReading, Rows, joined

FORMAT = "Coqui trainer log"

_STEP = re.compile(r"--> .*?\bGLOBAL_STEP: (?P<step>\d{1,12})\b")
_EPOCH = re.compile(r"> EPOCH: (?P<epoch>\d{1,9})/\d+")
_VALUE = re.compile(
    rf"\s*\| > (?P<name>[\w./ -]{{1,80}}?)\s*: (?P<value>{NUMBER})(?:\s+\([^()]{{1,40}}\))?\s*"
)
_EVALUATED, _EVALUATING, _TRAINING = "evaluated", "evaluating", "training"
_MARKS = ((re.compile(r"--> EVAL PERFORMANCE"), _EVALUATED), (re.compile(r"> EVALUATION"), _EVALUATING))


def recognise(head: Head) -> float:
    """A line with a global step above values behind `| >`."""
    if head.binary or head.prose or "| >" not in head.ends:
        return 0.0
    steps = sum(times for line, times in head.shapes if _STEP.search(line))
    values = sum(times for line, times in head.shapes if _VALUE.fullmatch(line))
    return 0.93 if steps and values > 1 else 0.6 if values > 1 and "EVAL PERFORMANCE" in head.ends else 0.0


def begin(head: Head) -> RowReading:
    """Every block."""
    reading = RowReading(head, FORMAT, _step_line, mark=_mark)
    reading.assemble = lambda rows: _assembled(rows, reading.marks)
    return reading


def _mark(line: str) -> str | None:
    return next((said for pattern, said in _MARKS if pattern.search(line)), None)


def _step_line(line: str) -> StepLine | None:
    if found := _STEP.search(line):
        return StepLine(((STEP, *found.span("step")),))
    if found := _EPOCH.search(line):
        return StepLine(((EPOCH, *found.span("epoch")),))
    found = _VALUE.fullmatch(line)
    return StepLine(((found["name"], *found.span("value")),)) if found else None


def _assembled(rows: Mapping[str, Rows], marks: Mapping[str, list[int]]) -> Assembled:
    """The values of training, and those of each evaluation as a whole."""
    begins = {
        _TRAINING: joined([rows[name] for name in (STEP, EPOCH) if name in rows]).at,
        _EVALUATED: np.sort(np.array(marks.get(_EVALUATED, []), dtype=np.int64)),
        _EVALUATING: np.sort(np.array(marks.get(_EVALUATING, []), dtype=np.int64)),
    }
    kept: dict[str, Rows] = {}
    for name, held in rows.items():
        if name in {STEP, EPOCH}:
            kept[name] = held
            continue
        last = {kind: _last_before(at, held.at) for kind, at in begins.items()}
        trained = (last[_TRAINING] > last[_EVALUATED]) & (last[_TRAINING] > last[_EVALUATING])
        evaluated = (last[_EVALUATED] > last[_TRAINING]) & (last[_EVALUATED] > last[_EVALUATING])
        kept[name] = held.select(trained)
        kept[f"eval {name}"] = held.select(evaluated)
    filled = {name: held for name, held in kept.items() if len(held)}
    return assembled(filled, {STEP: "GLOBAL_STEP", EPOCH: "EPOCH"})


def _last_before(marks: Places, at: Places) -> Places:
    """The place of the last mark before each of some places; -1 for none."""
    padded = np.concatenate([[-1], marks])
    found: Places = padded[np.searchsorted(marks, at, side="right")]
    return found
