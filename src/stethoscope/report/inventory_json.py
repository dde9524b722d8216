"""The inventory as JSON: every file, and every series with its numbers and its points.

One object over many lines: a file or a series is a line of its own. JSON has no word for what is not
finite, so such a value is one of the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from stethoscope.inventory import Inventory, ListedRun, Met, Told
from stethoscope.report.series_summary import chosen, in_order, summary
from stethoscope.run import Series
from stethoscope.run.names import better

SCHEMA = 1


def write(inventory: Inventory, file: TextIO, patterns: Sequence[str] = (), points: bool = True) -> None:
    """Write the inventory; `points` says whether each series comes with all its steps and values."""
    for text in _parts(inventory, patterns, points):
        file.write(text)


def _parts(inventory: Inventory, patterns: Sequence[str], points: bool) -> Iterator[str]:
    yield f'{{"schema": {SCHEMA}, "path": {_json(inventory.path)}, "runs": ['
    for number, run in enumerate(inventory.runs):
        yield ",\n" if number else "\n"
        yield from _run(run, patterns, points)
    yield "],\n"
    yield from _list("files", (_met(met) for met in inventory.files))
    yield ",\n"
    yield from _list("not_read", ({"path": one.file, "why": one.reason} for one in inventory.unread))
    yield f',\n"not_looked_into": {_json(list(inventory.passed))}}}\n'


def _run(run: ListedRun, patterns: Sequence[str], points: bool) -> Iterator[str]:
    head = {
        "path": run.path,
        "points": run.points,
        "segments": [
            {"first": segment.first, "last": segment.last, "file": segment.file} for segment in run.segments
        ],
        "abandoned": [_extent(series) for series in run.abandoned],
        "notes": list(run.notes),
    }
    yield _json(head)[:-1] + ",\n"
    yield from _list("files", (_met(met) for met in run.files))
    yield ",\n"
    told = in_order(chosen(run.series.values(), patterns))
    yield from _list("series", (_series(one, points) for one in told))
    yield "}"


def _list(name: str, items: Iterable[dict[str, object]]) -> Iterator[str]:
    yield f'"{name}": ['
    for number, item in enumerate(items):
        yield (",\n" if number else "\n") + _json(item)
    yield "]"


def _met(met: Met) -> dict[str, object]:
    told: dict[str, object] = {"file": met.file, "bytes": met.size, "taken_for": met.kind.value}
    log = met.log
    if log is None:
        return told | ({"said": met.said} if met.said else {})
    told |= {"format": log.format, "series": len(log.series), "points": log.points, "notes": list(log.notes)}
    steps = [series for series in log.series if len(series)]
    if steps:
        told["steps"] = {
            "first": min(int(series.steps.min()) for series in steps),
            "last": max(int(series.steps.max()) for series in steps),
        }
    told |= {"left_out": met.left_out} if met.left_out else {}
    return told | ({"tells_the_same_as": met.same_as} if met.same_as else {})


def _extent(series: Series) -> dict[str, object]:
    return {
        "series": series.name,
        "file": series.file,
        "points": len(series),
        "first": int(series.steps[0]),
        "last": int(series.steps[-1]),
    }


def _series(told: Told, points: bool) -> dict[str, object]:
    series, numbers = told.series, summary(told.series)
    item: dict[str, object] = {
        "name": series.name,
        "logged_as": series.logged_as,
        "axis": series.axis,
        "aggregation": series.aggregation.value,
        "better": better(series.name),
        "points": numbers.points,
        "non_finite": numbers.non_finite,
        "steps": {"first": numbers.first_step, "last": numbers.last_step},
        "first": _value(numbers.first),
        "last": _value(numbers.last),
        "min": numbers.low,
        "max": numbers.high,
        "sources": [_source(source) for source in told.sources or (series,)],
    }
    if points:
        item |= {"at": series.steps.tolist(), "values": [_value(value) for value in series.values.tolist()]}
    return item


def _source(series: Series) -> dict[str, object]:
    lines = {"first": series.lines[0], "last": series.lines[1]} if series.lines else None
    return {"file": series.file, "logged_as": series.logged_as, "lines": lines, "points": len(series)}


def _value(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _json(item: object) -> str:
    return json.dumps(item, ensure_ascii=False, allow_nan=False)
