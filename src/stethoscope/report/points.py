"""The points of runs in long form: one row per value, with the file and the name it was logged under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.inventory import ListedRun, Told
from stethoscope.report.series_summary import chosen, in_order
from stethoscope.run import Segment, Series, Steps, Values

COLUMNS = ("run", "series", "step", "value", "logged_as", "file", "axis", "segment")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Consecutive rows that differ in nothing but step and value.

    `segment` counts the stretches between restarts from 1; None where that is not known.
    """

    run: str
    series: str
    logged_as: str
    file: str
    axis: str
    segment: int | None
    steps: Steps
    values: Values


def joined(runs: Iterable[ListedRun], patterns: Sequence[str]) -> Iterator[Rows]:
    """The canonical series: each signal's current branch, restarts and repeated tellings joined."""
    for run in runs:
        for told in in_order(chosen(run.series.values(), patterns)):
            yield from _rows(run, told)


def as_logged(runs: Iterable[ListedRun], patterns: Sequence[str]) -> Iterator[Rows]:
    """The series of every log by itself, in the order written: nothing joined, nothing left out."""
    for run in runs:
        logs = [met.log for met in run.files if met.log is not None]
        for series in (series for log in logs for series in log.series if len(series)):
            if chosen([Told(series, ())], patterns):
                yield _of(run, series, series.name, None, series.steps, series.values)


def _rows(run: ListedRun, told: Told) -> Iterator[Rows]:
    """The rows of one series, cut where another file or another segment goes on."""
    series = told.series
    sources = (series, *told.sources)
    source, segment = _sources(series, told.sources), _segments(series, run.segments)
    cuts = np.flatnonzero((np.diff(source) != 0) | (np.diff(segment) != 0)) + 1
    for first, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(series)], strict=True):
        number = int(segment[first]) or None
        of = sources[int(source[first]) + 1]
        yield _of(
            run, of, series.name, number, series.steps[first:end], series.values[first:end], series.axis
        )


def _of(
    run: ListedRun,
    source: Series,
    name: str,
    segment: int | None,
    steps: Steps,
    values: Values,
    axis: str | None = None,
) -> Rows:
    return Rows(run.path, name, source.logged_as, source.file, axis or source.axis, segment, steps, values)


def _sources(series: Series, sources: Sequence[Series]) -> Numbers:
    """Which source each point is from, by its step and value; -1 where none tells it like this."""
    found = np.full(len(series), -1, dtype=np.int64)
    if len(sources) < 2:
        return found if not sources else np.zeros(len(series), dtype=np.int64)
    # Of two that tell the same, the longer one has the last word.
    for number in sorted(range(len(sources)), key=lambda number: len(sources[number])):
        found[_told_by(sources[number], series)] = number
    return found


def _told_by(source: Series, series: Series) -> npt.NDArray[np.bool_]:
    if not len(source):
        return np.zeros(len(series), dtype=np.bool_)
    order = np.argsort(source.steps, kind="stable")
    steps, values = source.steps[order], source.values[order]
    told = np.zeros(len(series), dtype=np.bool_)
    for at in (np.searchsorted(steps, series.steps), np.searchsorted(steps, series.steps, "right") - 1):
        at = np.clip(at, 0, len(steps) - 1)
        same = (values[at] == series.values) | (np.isnan(values[at]) & np.isnan(series.values))
        told |= (steps[at] == series.steps) & same
    return told


def _segments(series: Series, segments: Sequence[Segment]) -> Numbers:
    """The number of the stretch that each point was trained in, from 1; 0 where it counts no steps."""
    if series.axis != "step" or not segments:
        return np.zeros(len(series), dtype=np.int64)
    number = np.ones(len(series), dtype=np.int64)
    for place, segment in enumerate(segments, 1):
        number[(series.steps >= segment.first) & (series.steps <= segment.last)] = place
    return number
