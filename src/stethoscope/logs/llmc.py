"""llm.c: its main.log, and what it prints.

s:250 tel:6.4713
s:250 trl:6.4529 lr:0.000215 norm:0.98
step    7/19560 | loss 10.0968 (+0.12z)| norm 5.2900 (+nanz)| lr 6.00e-06 | 3519.82 ms | 38.4% bf16 MFU
step    1/74: train loss 4.367857 (acc 4.367857) (38.3 ms, 106.5K tok/s)
val loss 4.513921
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._text.fields import separated, tight
from stethoscope.logs._text.grammar import StepLine, confidence, step_lines
from stethoscope.logs._text.reading import TextReading

FORMAT = "llm.c log"

_TERSE = re.compile(rf"s:(?P<step>\d{{1,12}})(?P<fields>(?: \w+:{NUMBER})+)\s*")
_PRINTED = re.compile(r"step\s+(?P<step>\d{1,12})/(?P<total>\d{1,12}) \| (?P<fields>(?:train )?loss\b.*)")
_EARLY = re.compile(rf"step\s+(?P<step>\d{{1,12}})/(?P<total>\d{{1,12}}): train loss (?P<loss>{NUMBER})\b.*")
_VALIDATION = re.compile(rf"val loss:? (?P<value>{NUMBER})\s*")


def recognise(head: Head) -> float:
    """Lines that begin with `s:N` or `step N/M |`."""
    return confidence(step_lines(head, _step_line))


def begin(head: Head) -> TextReading:
    """Every line of either kind."""
    return TextReading(head, FORMAT, _step_line)


def _step_line(line: str) -> StepLine | None:
    if terse := _TERSE.fullmatch(line):
        # "eval" is the accuracy on HellaSwag.
        values = (
            ("eval hellaswag" if name == "eval" else name, start, end)
            for name, start, end in tight(line, terse.start("fields"))
        )
        return StepLine(tuple(values), terse.span("step"))
    if printed := _PRINTED.fullmatch(line):
        fields = separated(line, printed.start("fields"), "|")
        return StepLine(tuple(fields), printed.span("step"), printed.span("total"))
    if early := _EARLY.fullmatch(line):
        return StepLine((("train loss", *early.span("loss")),), early.span("step"), early.span("total"))
    if validation := _VALIDATION.fullmatch(line):
        return StepLine((("val loss", *validation.span("value")),))
    return None
