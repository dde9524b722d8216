"""llm.c: its main.log, and what it prints.

s:250 tel:6.4713
s:250 trl:6.4529 lr:0.000215 norm:0.98
step    7/19560 | loss 10.0968 (+0.12z)| norm 5.2900 (+nanz)| lr 6.00e-06 | 3519.82 ms | 38.4% bf16 MFU
step    1/74: train loss 4.367857 (acc 4.367857) (38.3 ms, 106.5K tok/s)
val loss 4.513921
"""

from __future__ import annotations

import re

from stethoscope.logs._fields import separated, tight
from stethoscope.logs._head import Head
from stethoscope.logs._numbers import NUMBER, number
from stethoscope.logs._text import StepLine, confidence, read_text, step_lines
from stethoscope.run import Log

FORMAT = "llm.c log"

_TERSE = re.compile(rf"s:(?P<step>\d{{1,12}})(?P<fields>(?: \w+:{NUMBER})+)\s*")
_PRINTED = re.compile(r"step\s+(?P<step>\d{1,12})/(?P<total>\d{1,12}) \| (?P<fields>(?:train )?loss\b.*)")
_EARLY = re.compile(rf"step\s+(?P<step>\d{{1,12}})/(?P<total>\d{{1,12}}): train loss (?P<loss>{NUMBER})\b.*")
_VALIDATION = re.compile(rf"val loss:? (?P<value>{NUMBER})\s*")


def recognise(head: Head) -> float:
    """Lines that begin with `s:N` or `step N/M |`."""
    return confidence(step_lines(head, _step_line))


def read(head: Head) -> Log:
    """Every line of either kind."""
    return read_text(head, FORMAT, _step_line)


def _step_line(line: str, last: int | None) -> StepLine | None:
    if terse := _TERSE.fullmatch(line):
        # "eval" is the accuracy on HellaSwag.
        values = [
            ("eval hellaswag" if name == "eval" else name, value) for name, value in tight(terse["fields"])
        ]
        return int(terse["step"]), values, None
    if printed := _PRINTED.fullmatch(line):
        return int(printed["step"]), separated(printed["fields"], "|"), int(printed["total"])
    if early := _EARLY.fullmatch(line):
        return int(early["step"]), [("train loss", number(early["loss"]) or 0.0)], int(early["total"])
    if last is not None and (validation := _VALIDATION.fullmatch(line)):
        return last, [("val loss", number(validation["value"]) or 0.0)], None
    return None
