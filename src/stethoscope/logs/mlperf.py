"""MLPerf's result lines: one key at a time, with a value and the epoch it belongs to.

:::MLL 1560229163.381 eval_accuracy: {"value": 12.59, "metadata": {"epoch_num": 1, "lineno": 564}}
:::MLLOG {"time_ms": 1623, "key": "eval_accuracy", "value": 0.71, "metadata": {"epoch_num": 3}}
:::MLPv0.5.0 resnet 1541712000.1 (train.py:12) eval_accuracy: {"epoch": 3, "value": 0.1448}
MLPerf: resnet [06/13/19 00:32:19], eval_accuracy: {"value": 14.48800%, "epoch": 3}

Keys without an epoch or step are settings of the submission and no measurements.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run.names import known

FORMAT = "MLPerf log"

_LINE = re.compile(r"(?::::MLP?L|:::MLPv[\d.]+|MLPerf: )")
_KEY = re.compile(r"\b(?P<key>[a-z][\w.]{1,80}): \{|\"key\": \"(?P<named>[\w.]{1,80})\"")
_VALUE = re.compile(rf"\"value\": (?P<value>{NUMBER})%?(?=[,}}\s])")
_INSIDE = re.compile(rf"\"(?P<name>[A-Za-z_][\w./]{{0,80}})\": (?P<value>{NUMBER})(?=[,}}\s])")
_EPOCH = re.compile(r"\"(?:epoch_num|epoch)\": \"?(?P<at>\d{1,9})(?=[\",}\s])")
_STEP = re.compile(r"\"(?:step_num|step|iteration|samples_count)\": \"?(?P<at>\d{1,12})(?=[\",}\s])")
_TRACKED = '"value": {'


def recognise(head: Head) -> float:
    """Lines in one of MLPerf's spellings that give a value at an epoch or step."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every value that has an epoch or step."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    mark = _LINE.search(line[:80])
    key = _KEY.search(line, mark.end()) if mark else None
    if key is None:
        return None
    name = key["key"] or key["named"]
    if _TRACKED in line:
        values = _tracked(line)
    else:
        value = _VALUE.search(line)
        values = ((name, *value.span("value")),) if value and known(name) else ()
    if not values:
        return None
    if at := _EPOCH.search(line):
        return StepLine(values, at.span("at"), axis="epoch")
    at = _STEP.search(line)
    return StepLine(values, at.span("at")) if at else None


def _tracked(line: str) -> tuple[Place, ...]:
    """`tracked_stats` holds several: {"value": {"throughput": 812.1, "loss": 2.3}, ...}."""
    start = line.index(_TRACKED) + len(_TRACKED)
    end = line.find("}", start)
    inside = _INSIDE.finditer(line, start, end + 1 if end >= 0 else len(line))
    return tuple((found["name"], *found.span("value")) for found in inside)
