"""Named values in a line, in the ways that small training scripts print them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from stethoscope.logs._numbers import NUMBER, number

Field = tuple[str, float]

_NAME = r"[A-Za-z][\w./%-]*(?: [A-Za-z][\w./%-]*)*"
_NAMED = re.compile(
    rf"(?P<name>{_NAME})(?:\s*+[:=]\s*+|\s++)(?P<value>{NUMBER})"
    r"\s*+(?P<unit>ms|s|m|h|%|GB|MiB|MB)?\s*+(?:\([^()]*\))?"
)
_MEASURED = re.compile(rf"(?P<value>{NUMBER})\s*+%?\s*+(?P<name>ms|tok/s|it/s|(?:\w+ )?MFU)")
_TIGHT = re.compile(
    rf"(?<![\w./-])(?P<name>[A-Za-z_][\w./-]*+)[:=](?P<value>{NUMBER})(?P<unit>ms|s|%)?(?=[\s,]|$)"
)
# A time that is not a number is a mean over no steps yet, not a sick run.
_TIMES = frozenset({"ms", "s", "m", "h"})


def separated(text: str, separator: str) -> Iterator[Field]:
    """One value between separators: `loss 3.21, time 12.3ms, mfu 40%` or `loss: nan | lr 6e-06 | 3519 ms`."""
    for padded in text.split(separator):
        part = padded.strip()
        found = _NAMED.fullmatch(part) or _MEASURED.fullmatch(part)
        if found is None:
            continue
        name = "dt" if found["name"] == "ms" else found["name"]
        yield from _kept(name, found["value"], found.groupdict().get("unit"))


def tight(text: str) -> Iterator[Field]:
    """Names and values without a blank between: `train_loss:15.99 step_avg:138ms`, `loss=10.1, lr=5e-04`."""
    for found in _TIGHT.finditer(text):
        yield from _kept(found["name"], found["value"], found["unit"])


def _kept(name: str, text: str, unit: str | None) -> Iterator[Field]:
    value = number(text)
    if value is not None and (math.isfinite(value) or (unit not in _TIMES and name != "dt")):
        yield name, value
