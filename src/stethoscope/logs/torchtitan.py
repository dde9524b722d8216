"""torchtitan's console log, and the losses it exports to compare runs.

[titan] 2025-01-07 10:11:12,131 - root - INFO - step:  1  loss: 12.1234  grad_norm:  4.1234  \
memory: 40.51GiB(50.12%)  tps: 1,234  tflops: 12.34  mfu: 12.34%
[titan] ... - root - INFO - validate step: 10  loss:  7.1234  memory: 40.51GiB(50.12%)  tps: 1,234

The exported losses are lines of a step and a value, and nothing else:

1 8.049097061157227
2 7.75183629989624
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.finish import Finished
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.meters import fields, held_out
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Log

FORMAT = "torchtitan log"

_LINE = re.compile(
    r"(?P<validation>\b[Vv]alidate )?\bstep:\s*(?P<step>\d{1,12})(?:/\d{1,12} = [\d.]{1,12}%)?\s\s+(?=loss: )"
)


_EXPORTED = re.compile(rf"(?P<step>\d{{1,12}})[ \t](?P<loss>{PLAIN_NUMBER})")
FEWEST_EXPORTED = 5  # lines; fewer pairs of numbers may be anything


def recognise(head: Head) -> float:
    """Lines of `step: N  loss: ...` with two blanks between the values, or nothing but exported losses."""
    if _is_export(head):
        return 0.5
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading | Finished:
    """Every training and validation line."""
    if _is_export(head):
        return Finished(TextReading(head, FORMAT, _exported), (_unnamed,))
    return TextReading(head, FORMAT, _step_line)


def _is_export(head: Head) -> bool:
    """Whether all lines are a whole number that counts up and a number that is not whole."""
    if head.binary or head.prose:
        return False
    lines = head.text.splitlines()[: -1 if head.end else None]
    found = [_EXPORTED.fullmatch(line.rstrip()) for line in lines if line.strip()]
    if len(found) < FEWEST_EXPORTED or not all(found):
        return False
    pairs = [(int(one["step"]), one["loss"]) for one in found if one]
    counts_up = all(before[0] < after[0] for before, after in pairwise(pairs))
    return counts_up and not all(loss.isdigit() for _, loss in pairs)


def _exported(line: str) -> StepLine | None:
    found = _EXPORTED.fullmatch(line.rstrip())
    return StepLine((("loss", *found.span("loss")),), found.span("step")) if found else None


def _unnamed(log: Log) -> Log:
    return replace(log, notes=(*log.notes, "two columns without names, taken for steps and losses"))


def _step_line(line: str) -> StepLine | None:
    found = _LINE.search(line)
    if found is None:
        return None
    values = held_out(line, found.end()) if found["validation"] else fields(line, found.end())
    return StepLine(tuple(values), found.span("step"))
