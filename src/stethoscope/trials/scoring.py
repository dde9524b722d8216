"""Scores: what a run left is read with the readers of `stethoscope`, and one number is made of its metric."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stethoscope.logs import splice
from stethoscope.read import MOST_LOGS, latest_state, logs_at, summaries_beside_histories
from stethoscope.run import Series
from stethoscope.run.folder import Entry, Folder, entry_of
from stethoscope.run.names import canonical
from stethoscope.run.place import Place
from stethoscope.trials.trial import Metric, Reading

TAIL_SHARE = 0.1  # of the points of a curve
MOST_POINTS = 200  # kept of a curve
# Never the same in two runs, and no sign that they differ.
OF_TIME = frozenset({"step_time", "data_time", "throughput", "mem", "runtime"})
TIME_WORDS = ("time", "sec", "eta", "speed", "memory", "fps", "it/s", "timestamp")
NON_FINITE_MEASUREMENTS = 2  # in a row, of the metric: weights that are not finite do not mend
NON_FINITE_LOSSES = 50  # in a row


@dataclass(frozen=True, slots=True)
class Told:
    """What the logs of one run say."""

    series: Mapping[str, Series]

    @property
    def names(self) -> tuple[str, ...]:
        """Every quantity there is, as it is called here."""
        return tuple(sorted(name for name, one in self.series.items() if len(one)))

    @property
    def steps(self) -> int | None:
        """The last step of any quantity."""
        return max((int(one.steps[-1]) for one in self.series.values() if len(one)), default=None)


def told_by(folder: Path, files: Iterable[Path]) -> Told:
    """What these files of a folder say; what is no log is passed over."""
    entries = tuple(_entries(folder, files))
    place = Place(folder, folder.name, folder.name, Folder(files=entries))
    found, _ = logs_at(place, MOST_LOGS)
    kept = latest_state(found, folder)
    kept = [file for file in kept if file not in summaries_beside_histories(kept)]
    return Told(splice([file.log for file in kept]).series)


def curve(told: Told, name: str) -> Series | None:
    """The metric's curve, by its name in the log or by the name Stethoscope gives it."""
    every = [one for one in told.series.values() if len(one)]
    found = (
        [one for one in every if one.logged_as == name]
        or [one for one in every if one.name == name]
        or [one for one in every if one.name == canonical(name)]
    )
    return max(found, key=len, default=None)


def score(series: Series, metric: Metric) -> float:
    """One number of a curve; not finite where the run was not, in the part that counts."""
    values = series.values
    if metric.reading is Reading.LAST:
        return float(values[-1])
    if metric.reading is Reading.BEST:
        finite = values[np.isfinite(values)]
        if not len(finite):
            return math.nan
        return float(finite.max() if metric.goal == "max" else finite.min())
    return float(np.mean(values[-math.ceil(TAIL_SHARE * len(values)) :]))


def first_value(series: Series) -> float | None:
    """The first value of a curve that is finite: what a model scores that has hardly learnt."""
    finite = series.values[np.isfinite(series.values)]
    return float(finite[0]) if len(finite) else None


def thinned(series: Series) -> tuple[tuple[int, float], ...]:
    """Few enough points of a curve to keep, the last among them."""
    wanted = np.unique(np.linspace(0, len(series) - 1, MOST_POINTS).astype(np.int64))
    return tuple(series.select(wanted)) if len(series) else ()


def fingerprint(told: Told) -> str:
    """A hash of everything but times: equal for two runs that did the same."""
    digest = hashlib.sha256()
    for name in told.names:
        one = told.series[name]
        if name not in OF_TIME and not any(word in one.logged_as.lower() for word in TIME_WORDS):
            digest.update(name.encode())
            digest.update(one.steps.tobytes() + one.values.tobytes())
    return digest.hexdigest()[:16] if told.names else ""


def is_hopeless(told: Told, metric: Metric) -> str:
    """Why a run that goes on will end without a score; empty where it may not."""
    measured = curve(told, metric.name)
    if measured is not None and _ends_non_finite(measured, NON_FINITE_MEASUREMENTS):
        return f"{metric.name} was not finite {NON_FINITE_MEASUREMENTS} times in a row"
    loss = told.series.get("loss")
    if loss is not None and _ends_non_finite(loss, NON_FINITE_LOSSES):
        return f"the loss was not finite {NON_FINITE_LOSSES} times in a row"
    return ""


def printed_score(text: str, metric: Metric, folder: Path, file: Path) -> float | None:
    """The score that an evaluator prints: a JSON object or a number on its last line, or lines of a log."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines:
        found = _in_json(lines[-1], metric.name)
        if found is None:
            found = _number(lines[-1])
        if found is not None:
            return found
    series = curve(told_by(folder, [file]), metric.name)
    return score(series, metric) if series is not None else None


def _entries(folder: Path, files: Iterable[Path]) -> Iterable[Entry]:
    for file in sorted(files):
        try:
            yield entry_of(file, str(file.relative_to(folder)) if file.is_relative_to(folder) else file.name)
        except OSError:
            continue


def _ends_non_finite(series: Series, points: int) -> bool:
    return len(series) >= points and not np.isfinite(series.values[-points:]).any()


def _in_json(line: str, name: str) -> float | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    keys: Sequence[str] = [key for key in found if key == name] or [
        key for key in found if canonical(key) == canonical(name)
    ]
    value = found[keys[0]] if keys else next(iter(found.values())) if len(found) == 1 else None
    return _number(str(value))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
