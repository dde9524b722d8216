"""What PyTorch's tutorials on sequences print, and the many scripts that began as one of them.

    1m 20s (- 5m 3s) (80 4%) 2.1534                              (translation: the mean since the line before)
    0m 20s (500 5%) 2.5506                                       (generating names)
    5000 5% (0m 20s) 2.1534 Rumbold / Irish x (English)          (classifying names: the loss of one example)
    5 (9%): 	 average batch loss = 0.8819                        (the same, by epochs)

Nothing in the first three says that the last number is a loss; in the tutorials it always is.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "PyTorch tutorial lines"

_CLOCK = r"(?:\d{1,5}h )?\d{1,6}m \d{1,2}s"
_SHARE = r"\d{1,3}(?:\.\d{1,6})?%"
_MEANS = re.compile(
    rf"\s*{_CLOCK} (?:\(- ?{_CLOCK}\) )?\((?P<step>\d{{1,12}}) {_SHARE}\) (?P<loss>{PLAIN_NUMBER})\s*"
)
_EXAMPLES = re.compile(
    rf"\s*(?P<step>\d{{1,12}}) {_SHARE} \({_CLOCK}\) (?P<loss>{PLAIN_NUMBER})(?:\s+\S.{{0,400}})?"
)
_EPOCHS = re.compile(
    rf"\s*(?P<step>\d{{1,12}}) \({_SHARE}\):\s+(?:average )?(?:batch )?loss = (?P<loss>{PLAIN_NUMBER})\s*"
)


def recognise(head: Head) -> float:
    """Lines of a clock, a step, a share and a number."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every line with a step and its loss."""
    of_one = any(_EXAMPLES.fullmatch(line) for line, _ in head.shapes)
    return TextReading(head, FORMAT, _step_line, Aggregation.INSTANT if of_one else Aggregation.WINDOW_MEAN)


def _step_line(line: str) -> StepLine | None:
    for pattern, axis in ((_MEANS, "step"), (_EXAMPLES, "step"), (_EPOCHS, "epoch")):
        found = pattern.fullmatch(line)
        if found is not None:
            return StepLine((("loss", *found.span("loss")),), found.span("step"), axis=axis)
    return None
