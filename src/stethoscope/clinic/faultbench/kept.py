"""The runs that are kept with the package: what is reached on them, and the floors that CI holds it to.

`scripts/keep_bench.py` makes the runs, and writes beside them what was reached on that day.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from stethoscope.clinic.faultbench import bench, packing
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.measured import Measured
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.scoring import figures
from stethoscope.clinic.faultbench.task import tasks

REACHED = packing.KEPT.with_name("kept.json")
MARGIN = 0.05  # what a figure may lack of what was reached: rules change, and 80 sick runs decide no better
ALARMS = 1  # more healthy or benign runs that may be called sick


@dataclass(frozen=True, slots=True)
class Reached:
    """What is reached on the kept runs with one kind of evidence, all parts together."""

    flagged: float
    first: float
    first_three: float
    false_alarms: int

    def lacks(self, before: Reached) -> list[str]:
        """The names of what is worse than it was before, by more than the margin."""
        shares = ("flagged", "first", "first_three")
        worse = [name for name in shares if getattr(self, name) < getattr(before, name) - MARGIN]
        return worse + ["false_alarms"] * (self.false_alarms > before.false_alarms + ALARMS)


def kept_labels(source: Path = packing.KEPT) -> list[Label]:
    """The labels of the kept runs."""
    with TemporaryDirectory() as folder:
        packing.unpack(source, Path(folder))
        return bench.labels_in(Path(folder))


def reach(jobs: int, source: Path = packing.KEPT) -> dict[Evidence, Reached]:
    """Score the kept runs."""
    with TemporaryDirectory() as folder:
        packing.unpack(source, Path(folder))
        labels = bench.labels_in(Path(folder))
        return {evidence: _reached(labels, Path(folder), evidence, jobs) for evidence in Evidence}


def _reached(labels: list[Label], folder: Path, evidence: Evidence, jobs: int) -> Reached:
    runs = bench.joined(labels, bench.ask(labels, folder, evidence, jobs), Measured())
    found = figures(runs, {name: task.metric for name, task in tasks().items()}, {})
    return Reached(
        round(found.planted_flagged.value, 4),
        round(found.planted_first.value, 4),
        round(found.planted_first_three.value, 4),
        found.false_alarms.right,
    )


def write(reached: dict[Evidence, Reached], file: Path = REACHED) -> None:
    """Keep what was reached."""
    told = {evidence.value: asdict(one) for evidence, one in reached.items()}
    file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def read_reached(file: Path = REACHED) -> dict[Evidence, Reached]:
    """What was reached when the runs were kept."""
    told = json.loads(file.read_text(encoding="utf-8"))
    return {Evidence(evidence): Reached(**one) for evidence, one in told.items()}
