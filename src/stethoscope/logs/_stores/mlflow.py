"""What MLflow's two stores have in common: points with a time and a step, parameters as text, a status."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.kept_settings import kept_settings
from stethoscope.logs._reading.points import MAX_SERIES, aggregation_of, with_lone_loss
from stethoscope.run import Aggregation, Document, Event, EventKind, Series
from stethoscope.run.names import assign

SYSTEM = "system/"  # what MLflow measures of the machine, against a counter of its own
LONGEST_PARAMETER = 65_536  # characters
LARGEST_FLOAT = float(np.finfo(np.float64).max)  # databases hold this for infinity
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Points:
    """The points of one metric in the order written: milliseconds, values and steps; where they stand."""

    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    steps: npt.NDArray[np.int64]
    file: str
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the metrics of a run gave."""

    series: tuple[Series, ...]
    started: float | None
    last_written: float | None
    last_step: int | None
    notes: tuple[str, ...]


def assembled(metrics: Mapping[str, Points]) -> Reading:
    """The metrics as series; those logged without a step are placed by their times."""
    own = {name: points for name, points in metrics.items() if len(points.steps)}
    machine = [name for name in own if name.startswith(SYSTEM)]
    own = {name: points for name, points in own.items() if name not in machine}
    notes = [f"{len(machine)} metrics of the machine passed over ({machine[0]} ...)"] if machine else []
    if len(own) > MAX_SERIES:
        own = dict(list(own.items())[:MAX_SERIES])
        notes.append(f"more than {MAX_SERIES} names; the rest was passed over")
    counted = {name: points for name, points in own.items() if (points.steps != 0).any()}
    steps = _placed(own, counted, notes)
    names = assign({name: len(points.steps) for name, points in own.items()})
    series = tuple(
        Series(
            names[logged],
            logged,
            steps[logged],
            points.values,
            points.file,
            aggregation_of(names[logged], logged, Aggregation.UNKNOWN),
            "step" if counted else "row",
            points.lines,
        )
        for logged, points in own.items()
    )
    moments = [moment for points in own.values() for moment in (points.times.min(), points.times.max())]
    last = max((int(points.steps.max()) for points in counted.values()), default=None)
    return Reading(
        with_lone_loss(series),
        float(min(moments)) / 1000 if moments else None,
        float(max(moments)) / 1000 if moments else None,
        last,
        tuple(notes),
    )


def _placed(
    own: Mapping[str, Points], counted: Mapping[str, Points], notes: list[str]
) -> dict[str, npt.NDArray[np.int64]]:
    """The steps of every metric. MLflow writes step 0 where none was passed."""
    if not counted:
        if any(len(points.steps) > 1 for points in own.values()):
            notes.append("no metric was logged with a step: values are counted instead")
        return {name: np.arange(len(points.steps), dtype=np.int64) for name, points in own.items()}
    busiest = max(counted.values(), key=lambda points: len(points.steps))
    order = np.argsort(busiest.times, kind="stable")
    times, steps = busiest.times[order], busiest.steps[order]
    placed = {}
    uncounted = []
    for name, points in own.items():
        first_too = len(points.steps) == 1 and points.times[0] <= times[0]  # a value of step 0 indeed
        if name in counted or first_too:
            placed[name] = points.steps
            continue
        uncounted.append(name)
        before = np.searchsorted(times, points.times, side="right") - 1
        placed[name] = steps[np.maximum(before, 0)]
    if uncounted:
        shown = ", ".join(uncounted[:3]) + (" ..." if len(uncounted) > 3 else "")
        notes.append(f"logged without a step, placed by the time of writing: {shown}")
    return placed


def document(parameters: Mapping[str, str], file: str) -> tuple[Document, ...]:
    """The parameters as settings; MLflow keeps the text of every value, whatever it was."""
    held = {name: _valued(text[:LONGEST_PARAMETER].strip()) for name, text in parameters.items()}
    return kept_settings(held, file)


def _valued(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if len(text) < 400 and _NUMBER.fullmatch(text):
        return json.loads(text)
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


_STATUS = {
    "3": EventKind.FINISHED,
    "FINISHED": EventKind.FINISHED,
    "4": EventKind.TRACEBACK,
    "FAILED": EventKind.TRACEBACK,
    "5": EventKind.KILLED,
    "KILLED": EventKind.KILLED,
}
_SPELLED = {"3": "FINISHED", "4": "FAILED", "5": "KILLED"}


def ended(status: object, file: str, step: int | None) -> tuple[Event, ...]:
    """How a run ended, by the status it was left with."""
    said = str(status)
    kind = _STATUS.get(said)
    return (Event(kind, f"MLflow status {_SPELLED.get(said, said)}", file, 0, step),) if kind else ()
