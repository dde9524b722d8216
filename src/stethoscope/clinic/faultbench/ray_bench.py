"""Make and diagnose the runs of the bench on a Ray cluster.

Every node needs Stethoscope with what the trainings need. A run is made in a folder of a node that is gone
afterwards; what it leaves comes back as one piece, so that the folder here is the same as without a
cluster, and a call goes on where the last one ended. To be diagnosed a run travels the other way.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stethoscope.clinic.faultbench.bench import Told, made, quietly
from stethoscope.clinic.faultbench.label import Label, read_label
from stethoscope.clinic.faultbench.making import LABELS
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion, stethoscope
from stethoscope.clinic.faultbench.packing import without_weights
from stethoscope.clinic.faultbench.specimen import Planted, Specimen
from stethoscope.clinic.faultbench.task import form_of, tasks
from stethoscope.errors import StethoscopeError
from stethoscope.trials.ray_cluster import connected, packed

Given = TypeVar("Given")
WAITING = 2  # for each core: what is sent ahead, so that no node waits and memory is not filled
RETRIES = 2  # a node that is lost takes its runs with it

# A specimen as it travels: nodes look up by name what holds functions.
Wanted = tuple[str, tuple[tuple[str, str, int], ...], int]


class RayBench:
    """The cluster at an address, as `ray.init` takes it."""

    def __init__(self, address: str) -> None:
        self._ray = connected(address)

    @property
    def cores(self) -> int:
        """The cores of all nodes."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def make_all(self, specimens: Sequence[Specimen], folder: Path, told: Told = quietly) -> list[Label]:
        """Make every run that is not there yet, each with a core for each of its processes."""
        folder.mkdir(parents=True, exist_ok=True)
        missing = [one for one in specimens if not _label(folder, one.name).exists()]
        done = len(specimens) - len(missing)
        for specimen, run in self._results(_made_there, missing, _processes, _wanted):
            _keep(run, folder, specimen.name)
            done += 1
            told(done, len(specimens), specimen.name)
        return [read_label(_label(folder, one.name)) for one in specimens]

    def ask(
        self, labels: Sequence[Label], folder: Path, evidence: Evidence, told: Told = quietly
    ) -> dict[str, Opinion]:
        """What Stethoscope says about each run."""

        def question(label: Label) -> tuple[str, str, bytes]:
            return label.task, evidence.value, packed(folder / label.name)

        said: dict[str, Opinion] = {}
        for label, opinion in self._results(_asked_there, labels, lambda label: 1, question):
            said[label.name] = opinion
            told(len(said), len(labels), label.name)
        return said

    def _results(
        self,
        function: Callable[..., Any],
        every: Sequence[Given],
        cores: Callable[[Given], int],
        sent: Callable[[Given], object],
    ) -> Iterator[tuple[Given, Any]]:
        """What a function gives for each on some node, as it is done."""
        remote = self._ray.remote(max_retries=RETRIES)(function)
        waiting = list(reversed(every))
        going: dict[Any, Given] = {}
        while waiting or going:
            while waiting and len(going) < WAITING * self.cores:
                one = waiting.pop()
                going[remote.options(num_cpus=cores(one)).remote(sent(one))] = one
            ready, _ = self._ray.wait(list(going), num_returns=1)
            for task in ready:
                one = going.pop(task)
                yield one, self._got(task, one)

    def _got(self, task: Any, one: object) -> Any:
        try:
            return self._ray.get(task)
        except Exception as problem:
            name = getattr(one, "name", one)
            said = str(problem).strip().splitlines()[-1:]
            raise StethoscopeError(f"{name}: its node gave no answer: {' '.join(said)}") from problem


def _label(folder: Path, name: str) -> Path:
    return folder / LABELS / f"{name}.json"


def _processes(specimen: Specimen) -> int:
    return specimen.task.processes


def _wanted(specimen: Specimen) -> Wanted:
    planted = tuple((one.form.operator, one.form.name, one.level) for one in specimen.planted)
    return specimen.task.name, planted, specimen.seed


def _made_there(wanted: Wanted) -> bytes:
    """On a node: make a run; gives its folder and its label as one piece."""
    name, planted, seed = wanted
    task = tasks()[name]
    forms = tuple(Planted(form_of(task, operator, form), level) for operator, form, level in planted)
    with tempfile.TemporaryDirectory(prefix="stethoscope-bench-") as folder:
        made(Specimen(task, forms, seed), Path(folder))
        return packed(Path(folder))


def _asked_there(question: tuple[str, str, bytes]) -> Opinion:
    """On a node: diagnose a run."""
    task, evidence, run = question
    with tempfile.TemporaryDirectory(prefix="stethoscope-bench-") as folder:
        _unpack(run, Path(folder))
        return stethoscope(Path(folder), tasks()[task], Evidence(evidence))


def _keep(piece: bytes, folder: Path, name: str) -> None:
    """Put a run that was made elsewhere where it belongs, its label last: what has one is whole."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".coming-") as scratch:
        _unpack(piece, Path(scratch))
        without_weights(Path(scratch) / name)
        shutil.rmtree(folder / name, ignore_errors=True)
        os.replace(Path(scratch) / name, folder / name)
        (folder / LABELS).mkdir(exist_ok=True)
        os.replace(_label(Path(scratch), name), _label(folder, name))


def _unpack(piece: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(piece)) as archive:
        archive.extractall(folder, filter="data")
