"""Megatron-LM's golden values: the curves that its functional tests compare a run with.

{"lm loss": {"start_step": 1, "end_step": 50, "step_interval": 1, "values": {"1": 10.498, "14": "nan", ...}}}
{"lm loss": {"start_step": 0, "end_step": 50, "step_interval": 5, "values": [10.8, 10.5, ...]}}    older ones
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import LAST_STEP
from stethoscope.logs._reading.points import Points
from stethoscope.logs._tables.json_values import value_of
from stethoscope.run import Aggregation, Log

FORMAT = "Megatron golden values"

_START = re.compile(r'^\s*\{\s*"[^"]{1,200}"\s*:\s*\{\s*"start_step"\s*:')


def recognise(head: Head) -> float:
    """An object of curves that say where they start."""
    if head.binary or head.prose:
        return 0.0
    return 0.95 if _START.match(head.text) and '"values"' in head.text else 0.0


def read(head: Head) -> Log:
    """Each curve against its steps."""
    try:
        curves = json.loads(head.whole_text())
    except (ValueError, RecursionError) as problem:
        raise UnreadableFile(f"{head.file}: not whole JSON ({problem})") from problem
    found = {
        name: dict(_curve(curve))
        for name, curve in (curves.items() if isinstance(curves, dict) else ())
        if isinstance(curve, Mapping)
    }
    holes = _holes(found)
    points = Points()
    for name, curve in found.items():
        for step, value in curve.items():
            if step not in holes:
                points.add(name, step, value)
    if not points.steps:
        raise UnreadableFile(f"{head.file}: golden values without a number in them")
    notes = (f"{len(holes)} steps hold nan for everything, memory included: they were not logged",)
    series = points.series(head.file, Aggregation.INSTANT)
    return Log(head.file, FORMAT, series, last_written=head.changed, notes=notes if holes else ())


def _holes(curves: Mapping[str, Mapping[int, float]]) -> set[int]:
    """The steps at which every curve is NaN: the tests write that for steps that were not logged."""
    steps = {step for curve in curves.values() for step in curve}
    real = {step for curve in curves.values() for step, value in curve.items() if not math.isnan(value)}
    # With one curve alone, NaN may be what was measured.
    return steps - real if len(curves) > 1 else set()


def _curve(curve: Mapping[str, object]) -> Iterator[tuple[int, float]]:
    values = curve.get("values")
    start, interval = curve.get("start_step"), curve.get("step_interval")
    if isinstance(values, Mapping):
        pairs = ((step, value) for step, value in values.items())
    elif isinstance(values, list) and isinstance(start, int) and isinstance(interval, int):
        pairs = ((str(start + at * interval), value) for at, value in enumerate(values))
    else:
        return
    for step, held in pairs:
        value = value_of(held)
        if value is not None and step.isdecimal() and len(step) < 19 and int(step) <= LAST_STEP:
            yield int(step), value
