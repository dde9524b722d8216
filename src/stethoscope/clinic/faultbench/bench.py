"""Make the runs of the bench, ask a tool about each, and count."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol, TypeVar

from stethoscope.clinic.faultbench.label import Label, read_label
from stethoscope.clinic.faultbench.making import LABELS, make
from stethoscope.clinic.faultbench.measured import Measured
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion, as_json, from_json, stethoscope
from stethoscope.clinic.faultbench.packing import without_weights
from stethoscope.clinic.faultbench.scoring import Figures, Judged, figures, judged
from stethoscope.clinic.faultbench.specimen import Specimen
from stethoscope.clinic.faultbench.split import Part, part_of
from stethoscope.clinic.faultbench.task import tasks

One = TypeVar("One")
Told = Callable[[int, int, str], None]  # how many are done, of how many, and the last one's name


def quietly(done: int, of: int, name: str) -> None:
    """Tell nobody."""


class Where(Protocol):
    """Somewhere that runs are made and diagnosed."""

    def make_all(self, specimens: Sequence[Specimen], folder: Path, told: Told) -> list[Label]:
        """Make every run that is not there yet."""
        ...

    def ask(
        self, labels: Sequence[Label], folder: Path, evidence: Evidence, told: Told
    ) -> dict[str, Opinion]:
        """What Stethoscope says about each run."""
        ...


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """The processes of this machine, so many at the same time."""

    jobs: int

    def make_all(self, specimens: Sequence[Specimen], folder: Path, told: Told) -> list[Label]:
        """Make every run that is not there yet."""
        return make_all(specimens, folder, self.jobs, told)

    def ask(
        self, labels: Sequence[Label], folder: Path, evidence: Evidence, told: Told
    ) -> dict[str, Opinion]:
        """What Stethoscope says about each run."""
        return ask(labels, folder, evidence, self.jobs, told)


def make_all(specimens: Sequence[Specimen], folder: Path, jobs: int, told: Told = quietly) -> list[Label]:
    """Make every run that is not there yet; whatever was made stays, so that a call goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        going = {pool.submit(made, specimen, folder): specimen.name for specimen in specimens}
        try:
            return list(finished(going, told))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def made(specimen: Specimen, folder: Path) -> Label:
    """Make one run; its weights are judged and go."""
    label = make(specimen, folder)
    without_weights(folder / specimen.name)
    return label


def labels_in(folder: Path) -> list[Label]:
    """The labels of all runs that were made."""
    return [read_label(file) for file in sorted((folder / LABELS).glob("*.json"))]


def ask(
    labels: Sequence[Label], folder: Path, evidence: Evidence, jobs: int, told: Told = quietly
) -> dict[str, Opinion]:
    """What Stethoscope says about each run."""
    home = str(folder.resolve())
    with pool_of(jobs) as pool:
        going = {
            pool.submit(_opinion, label.name, label.task, home, evidence): label.name for label in labels
        }
        return dict(finished(going, told))


def pool_of(jobs: int) -> ProcessPoolExecutor:
    """Processes that begin with everything imported that a diagnosis needs."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(jobs, mp_context=context)


def _opinion(name: str, task: str, folder: str, evidence: Evidence) -> tuple[str, Opinion]:
    return name, stethoscope(Path(folder) / name, tasks()[task], evidence)


def finished(going: dict[Future[One], str], told: Told) -> Iterator[One]:
    """The results as they come, each told."""
    done, waiting = 0, set(going)
    while waiting:
        ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for one in ready:
            done += 1
            told(done, len(going), going[one])
            yield one.result()


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one part of the bench, with one kind of evidence."""

    part: str
    evidence: Evidence
    runs: int
    figures: Figures


HELD_OUT = "held out, all"


def results(
    labels: Sequence[Label], said: dict[Evidence, dict[str, Opinion]], measured: Measured
) -> list[Result]:
    """The figures of each part and of everything that is held out."""
    found = []
    for evidence, opinions in said.items():
        runs = joined(labels, opinions, measured)
        held = [run for run in runs if part_of(run.label) is not Part.TUNING]
        parts = {part.value: [run for run in runs if part_of(run.label) is part] for part in Part}
        for name, chosen in {**parts, HELD_OUT: held}.items():
            found.append(_result(name, evidence, chosen, measured))
    return found


def by_task(labels: Sequence[Label], opinions: dict[str, Opinion], measured: Measured) -> list[Result]:
    """The figures of each task, from all evidence."""
    runs = joined(labels, opinions, measured)
    names = sorted({run.label.task for run in runs})
    return [
        _result(name, Evidence.ALL, [run for run in runs if run.label.task == name], measured)
        for name in names
    ]


def by_operator(labels: Sequence[Label], opinions: dict[str, Opinion], measured: Measured) -> list[Result]:
    """The figures of each fault where it was planted alone, from all evidence.

    Only of the part that is tuned on: whoever looks at the others in this detail has tuned on them.
    """
    runs = [
        run
        for run in joined(labels, opinions, measured)
        if part_of(run.label) is Part.TUNING and len(run.label.faults) == 1
    ]
    names = sorted({run.label.faults[0].operator for run in runs})
    return [
        _result(name, Evidence.ALL, [run for run in runs if run.label.faults[0].operator == name], measured)
        for name in names
    ]


def joined(labels: Iterable[Label], opinions: dict[str, Opinion], measured: Measured) -> list[Judged]:
    """Every run that there is an opinion about, with it."""
    return [judged(label, opinions[label.name], measured.cells) for label in labels if label.name in opinions]


def _result(name: str, evidence: Evidence, runs: Sequence[Judged], measured: Measured) -> Result:
    metrics = {name: task.metric for name, task in tasks().items()}
    return Result(name, evidence, len(runs), figures(runs, metrics, measured.noise))


def keep_opinions(said: dict[Evidence, dict[str, Opinion]], file: Path) -> None:
    """Write down what was said, one line for each run and kind of evidence."""
    with open(file, "w", encoding="utf-8") as target:
        for evidence, opinions in said.items():
            for name, opinion in sorted(opinions.items()):
                told = {"run": name, "evidence": evidence.value, "opinion": json.loads(as_json(opinion))}
                target.write(json.dumps(told) + os.linesep)


def kept_opinions(file: Path) -> dict[Evidence, dict[str, Opinion]]:
    """Read what was said before."""
    said: dict[Evidence, dict[str, Opinion]] = {evidence: {} for evidence in Evidence}
    for line in file.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        said[Evidence(told["evidence"])][told["run"]] = from_json(told["opinion"])
    return said
