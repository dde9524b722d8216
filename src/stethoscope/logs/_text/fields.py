"""Where a line holds named values, in the ways that training scripts print them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from stethoscope.logs._reading.numbers import NUMBER, number
from stethoscope.logs._text.grammar import Place

_NAME = r"[A-Za-z][\w./%-]*(?: [A-Za-z][\w./%-]*)*"
_NAMED = re.compile(
    rf"\s*+(?P<name>{_NAME})(?:\s*+[:=]\s*+|\s++)(?P<value>{NUMBER})"
    r"\s*+(?P<unit>ms|s|m|h|%|GB|MiB|MB)?\s*+(?:\([^()]*\))?\s*+"
)
_MEASURED = re.compile(rf"\s*+(?P<value>{NUMBER})\s*+%?\s*+(?P<name>ms|tok/s|it/s|(?:\w+ )?MFU)\s*+")
_TIGHT = re.compile(
    rf"(?<![\w./-])(?P<name>[A-Za-z_][\w./-]*+)\s?[:=]\s*+(?P<value>{NUMBER})(?P<unit>ms|s|%)?(?=[\s,;|)\]}}]|$)"
)
# A time that is not a number is a mean over no steps yet, not a sick run.
_TIMES = frozenset({"ms", "s", "m", "h"})


def separated(line: str, start: int, separator: str) -> Iterator[Place]:
    """One value between separators: `loss 3.21, time 12.3ms, mfu 40%` or `loss: nan | lr 6e-06 | 3519 ms`."""
    while start < len(line):
        end = line.find(separator, start)
        end = len(line) if end < 0 else end
        found = _NAMED.fullmatch(line, start, end) or _MEASURED.fullmatch(line, start, end)
        if found is not None:
            yield from _kept(found, "dt" if found["name"] == "ms" else found["name"])
        start = end + len(separator)


def tight(line: str, start: int = 0, end: int | None = None) -> Iterator[Place]:
    """Names and values with hardly a blank between: `train_loss:15.99 step_avg:138ms`, `loss=1, lr: 5e-4`."""
    for found in _TIGHT.finditer(line, start, len(line) if end is None else end):
        yield from _kept(found, found["name"])


def _kept(found: re.Match[str], name: str) -> Iterator[Place]:
    value = number(found["value"])
    unit = found.groupdict().get("unit")
    if value is not None and (math.isfinite(value) or (unit not in _TIMES and name != "dt")):
        yield (name, *found.span("value"))
