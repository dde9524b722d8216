"""Score-Entropy-Discrete-Diffusion's log file.

2024-02-01 10:00:00,000 - step: 50, training_loss: 8.13412e+02
2024-02-01 10:00:09,000 - step: 100, evaluation_loss: 7.90110e+02
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "SEDD log"

_LINE = re.compile(
    rf"(?:\S+ \S+ - )?step: (?P<step>\d{{1,12}}), "
    rf"(?P<name>(?:training|evaluation)_loss): (?P<value>{NUMBER})\s*"
)


def recognise(head: Head) -> float:
    """Lines that give a training or evaluation loss after `step: N`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every step line."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    found = _LINE.fullmatch(line)
    return StepLine(((found["name"], *found.span("value")),), found.span("step")) if found else None
