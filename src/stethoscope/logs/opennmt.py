"""OpenNMT-py's training log.

    [2024-03-01 10:00:00,123 INFO] Step 50/100000; acc: 4.05; ppl: 8000.1; xent: 8.99; lr: 0.00001;
        sents: 1234; bsz: 3000/3000/ 50; 12000/12000 tok/s;     5 sec;                     (all in one line)
    [2024-03-01 10:09:00,456 INFO] Validation perplexity: 13.5
    [2024-03-01 10:09:00,456 INFO] Validation accuracy: 45.2

`xent`, the cross entropy, is the loss; the perplexity is its exponential. Before version 3 the sizes of the
batches are not told. The means since the beginning (`Train perplexity`) say nothing about a step.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.grammar import Place, StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "OpenNMT log"

_STEP = re.compile(r"\bStep\s+(?P<step>\d{1,12})/\s*(?P<total>\d{1,12});\s+(?=acc:)")
_FIELD = re.compile(rf"\s*(?P<name>[A-Za-z][\w ]{{0,30}}):\s*(?P<value>{PLAIN_NUMBER})\s*(?=;|$)")
_SPEED = re.compile(rf";\s*(?:{PLAIN_NUMBER})/\s*(?P<value>{PLAIN_NUMBER})\s+tok/s")
_VALIDATED = re.compile(
    rf"\bValidation (?P<name>perplexity|accuracy|loss|xent):\s+(?P<value>{PLAIN_NUMBER})\s*$"
)
_SPOKEN = {"xent": "loss"}


def recognise(head: Head) -> float:
    """Lines of a step with its accuracy first, between semicolons."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every line of a step, and the validations."""
    return TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN)


def _step_line(line: str) -> StepLine | None:
    validated = _VALIDATED.search(line)
    if validated is not None:
        name = _SPOKEN.get(validated["name"], validated["name"])
        return StepLine(((f"val {name}", *validated.span("value")),))
    found = _STEP.search(line)
    if found is None:
        return None
    values: list[Place] = []
    at = found.end()
    while at < len(line):
        end = line.find(";", at)
        end = len(line) if end < 0 else end
        field = _FIELD.fullmatch(line, at, end)
        if field is not None:
            values.append((_SPOKEN.get(field["name"], field["name"]), *field.span("value")))
        at = end + 1
    speed = _SPEED.search(line, found.end())
    if speed is not None:
        values.append(("tok/s", *speed.span("value")))
    return StepLine(tuple(values), found.span("step"), found.span("total")) if values else None
