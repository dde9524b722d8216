"""Make the runs of the bench, ask a tool about each, and count."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from stethoscope.clinic.faultbench.consequence import Cell
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


def make_all(specimens: Sequence[Specimen], folder: Path, jobs: int, told: Told = quietly) -> list[Label]:
    """Make every run that is not there yet; whatever was made stays, so that a call goes on."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        going = {pool.submit(_made, specimen, folder): specimen.name for specimen in specimens}
        try:
            return list(_finished(going, told))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _made(specimen: Specimen, folder: Path) -> Label:
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
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        going = {
            pool.submit(_opinion, label.name, label.task, str(folder), evidence): label.name
            for label in labels
        }
        return dict(_finished(going, told))


def _opinion(name: str, task: str, folder: str, evidence: Evidence) -> tuple[str, Opinion]:
    return name, stethoscope(Path(folder) / name, tasks()[task], evidence)


def _finished(going: dict[Future[One], str], told: Told) -> Iterator[One]:
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


def results(
    labels: Sequence[Label], said: dict[Evidence, dict[str, Opinion]], measured: Measured
) -> list[Result]:
    """The figures of each part and of everything that is held out."""
    found = []
    for evidence, opinions in said.items():
        runs = _joined(labels, opinions, measured.cells)
        held = [run for run in runs if part_of(run.label) is not Part.TUNING]
        parts = {part.value: [run for run in runs if part_of(run.label) is part] for part in Part}
        for name, chosen in {**parts, "held out, all": held}.items():
            found.append(Result(name, evidence, len(chosen), _figures(chosen, measured)))
    return found


def _joined(labels: Iterable[Label], opinions: dict[str, Opinion], cells: dict[Cell, bool]) -> list[Judged]:
    return [judged(label, opinions[label.name], cells) for label in labels if label.name in opinions]


def _figures(runs: Sequence[Judged], measured: Measured) -> Figures:
    metrics = {name: task.metric for name, task in tasks().items()}
    return figures(runs, metrics, measured.noise)


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
