"""How much the logs of FaultBench could tell somebody who knows its trainings by heart.

    python benchmarks/faultbench_runs.py unpack FOLDER
    python benchmarks/faultbench_ceiling.py FOLDER          needs scikit-learn

A diagnosis meets a run whose training it has never seen. This reader knows all that a diagnosis cannot know:
the healthy runs of the same training, and for every fault runs of the same training with it. What even it
cannot tell, the logs do not hold. Every series of a log is summed up in some twenty numbers. A run is flagged
where a classifier that saw all other runs of the training gives it a higher chance of a fault than all but
one in a hundred of the healthy and benign runs; a cause is named by a classifier that saw the other faulty
runs. Each run is judged by forests that did not see it. Only shares are printed, and nothing is fitted for
the tool.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stethoscope.clinic.faultbench.bench import labels_in
from stethoscope.clinic.faultbench.consequence import Cell, is_consequential
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.measured import joined, measured_in, recorded
from stethoscope.clinic.faultbench.opinion import only_logs
from stethoscope.clinic.faultbench.split import Part, part_of
from stethoscope.clinic.faultbench.task import tasks
from stethoscope.errors import StethoscopeError
from stethoscope.read import read
from stethoscope.run.series import Series

Features = dict[str, float]
Table = npt.NDArray[np.float64]

TREES, FOLDS = 300, 10
ONE_IN = 100  # healthy runs that may be flagged
ENOUGH = 100  # runs of a training
FEWEST = 3  # points of a series that has a shape


@dataclass(frozen=True, slots=True)
class Told:
    """One run, what its logs hold, and what came out for it."""

    label: Label
    features: Features
    harmful: bool


def main() -> None:
    """Print a row for each part of the bench."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    labels = labels_in(asked.folder)
    cells = joined(recorded(), measured_in(labels)).cells
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    made = Counter(label.task for label in labels)
    for name in sorted(task for task, runs in made.items() if runs >= ENOUGH):
        runs = list(_told([label for label in labels if label.task == name], asked.folder, cells, asked.jobs))
        _count(runs, counts)
        print(f"{name}: {len(runs)} runs", file=sys.stderr, flush=True)
    print(f"{'part':10} {'harmful':>8} {'flagged':>8} {'first':>8} {'in three':>8} {'false':>12}")
    for part, count in counts.items():
        shares = [f"{count[what] / count['harmful']:8.2f}" for what in ("flagged", "first", "three")]
        print(f"{part:10} {count['harmful']:8} {' '.join(shares)} {count['false']:5} of {count['well']}")


def _told(labels: Sequence[Label], folder: Path, cells: dict[Cell, bool], jobs: int) -> Iterator[Told]:
    with ProcessPoolExecutor(jobs) as pool:
        homes = [folder / label.name for label in labels]
        features = pool.map(features_of, homes, [label.task for label in labels], chunksize=8)
        for label, found in zip(labels, features, strict=True):
            yield Told(label, found, label.is_sick and is_consequential(label, cells) is True)


def features_of(home: Path, task: str) -> Features:
    """Every series of a log in numbers that do not depend on how often it was logged."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = read(only_logs(home / tasks()[task].run, Path(folder) / "run"))
        except StethoscopeError:
            return {"unreadable": 1.0}
    found: Features = {"segments": float(len(run.segments)), "series": float(len(run.series))}
    for name, series in run.series.items():
        found |= {f"{name}.{what}": number for what, number in _shape(series)}
    return found


def _shape(series: Series) -> Iterator[tuple[str, float]]:
    """Levels along the way, the ends, the best, the noise, and how much of it is not finite."""
    finite = series.finite()
    yield "lost", 1.0 - len(finite) / max(1, len(series))
    if len(finite) < FEWEST:
        return
    values, size = finite.values, len(finite)
    low, high = float(values.min()), float(values.max())
    yield from (("low", low), ("high", high), ("first", float(values[0])), ("last", float(values[-1])))
    yield from (("where-low", float(values.argmin()) / size), ("where-high", float(values.argmax()) / size))
    for number, part in enumerate(np.array_split(values, min(8, size))):
        yield f"level-{number}", float(np.median(part))
    steps = np.diff(values)
    yield "noise", float(np.median(np.abs(steps)))
    yield "leap", float(np.abs(steps).max())
    yield "lean", float(np.mean(steps > 0))
    centred = steps - steps.mean()
    spread = float(np.dot(centred, centred))
    yield "memory", float(np.dot(centred[:-1], centred[1:])) / spread if spread > 0 else 0.0


def _count(runs: Sequence[Told], counts: dict[str, Counter[str]]) -> None:
    """Judge each run of one training by forests that know the others."""
    table = _table(runs)
    sick = np.array([run.label.is_sick for run in runs])
    chance = _chances(table, sick, [str(run.label.is_sick) for run in runs])
    limit = _limit(chance[~sick])
    named = _named(table, runs, sick)
    for run, high, causes in zip(runs, chance > limit, named, strict=True):
        for part in _parts(run.label):
            count = counts[part]
            if not run.label.is_sick:
                count.update(well=1, false=int(high))
            elif run.harmful:
                right = {cause for fault in run.label.planted for cause in fault.acceptable}
                count.update(
                    harmful=1,
                    flagged=int(high),
                    first=int(not right.isdisjoint(causes[:1])),
                    three=int(not right.isdisjoint(causes[:3])),
                )


def _parts(label: Label) -> Iterator[str]:
    yield "all"
    yield str(part_of(label))
    if part_of(label) is not Part.TUNING:
        yield "held out, all"


def _table(runs: Sequence[Told]) -> Table:
    names = sorted({name for run in runs for name in run.features})
    rows = [[run.features.get(name, np.nan) for name in names] for run in runs]
    return np.clip(np.nan_to_num(np.array(rows, dtype=float), nan=-1e9, posinf=1e9, neginf=-1e9), -1e9, 1e9)


def _chances(table: Table, sick: npt.NDArray[np.bool_], answers: Sequence[str]) -> Table:
    """The chance of a fault by forests that did not see the run."""
    return _unseen(table, np.array(answers), sick)[1][:, 1]


def _limit(healthy: Table) -> float:
    """What all but one in a hundred of the runs stay below in which nothing is wrong."""
    allowed = len(healthy) // ONE_IN
    return float(np.sort(healthy)[-1 - allowed])


def _named(table: Table, runs: Sequence[Told], sick: npt.NDArray[np.bool_]) -> list[list[str]]:
    """The causes by their chance, for every faulty run; nothing for the others."""
    where = np.flatnonzero(sick)
    causes = np.array([runs[place].label.planted[0].cause for place in where])
    names, chances = _unseen(table[where], causes, causes)
    found: list[list[str]] = [[] for _ in runs]
    for place, row in zip(where, chances, strict=True):
        found[place] = [str(names[rank]) for rank in np.argsort(-row)[:3]]
    return found


def _unseen(table: Table, answers: npt.NDArray[np.str_], strata: Table) -> tuple[npt.NDArray[np.str_], Table]:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import KFold

    names = np.unique(answers)
    chances = np.zeros((len(table), len(names)))
    for seen, held in KFold(FOLDS, shuffle=True, random_state=0).split(table):
        forest = ExtraTreesClassifier(TREES, class_weight="balanced", random_state=0)
        forest.fit(table[seen], answers[seen])
        chances[np.ix_(held, np.searchsorted(names, forest.classes_))] = forest.predict_proba(table[held])
    return names, chances


if __name__ == "__main__":
    main()
