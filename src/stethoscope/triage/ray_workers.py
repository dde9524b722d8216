"""Runs examined by the nodes of a Ray cluster: the same work and the same results, on more machines.

Every node needs Stethoscope. A node that sees the runs where they are here, as on a shared disk, reads them
there; to others their files are sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stethoscope.errors import StethoscopeError
from stethoscope.triage.examining import Outcome, Patient, examined, failed
from stethoscope.triage.parcels import (
    Parcel,
    Stamp,
    below,
    is_seen,
    laid_out,
    packed_project,
    packed_run,
    project_of,
    stamp_of,
)
from stethoscope.triage.summary import as_json, from_json

WAITING = 2  # tasks for each core that are sent ahead, so that no node waits
RETRIES = 1  # a node that is lost takes its runs with it


def examined_by_ray(
    ray: Any, patients: Sequence[Patient], seconds: float
) -> Iterator[tuple[Patient, Outcome]]:
    """The outcome of each run, as it is done; `ray` is connected already."""
    cluster = _Cluster(ray, seconds)
    most = WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = list(reversed(patients))
    seen = {patient.path for patient in patients}
    going: dict[Any, Patient] = {}
    while waiting or going:
        while waiting and len(going) < most:
            patient = waiting.pop()
            try:
                going[cluster.begun(patient)] = patient
            except StethoscopeError as problem:
                yield patient, failed(patient.path, str(problem))
            except OSError as problem:
                reason = (problem.strerror or str(problem)).lower()
                yield patient, failed(patient.path, f"it could not be read: {reason}")
        if not going:
            continue
        ready, _ = ray.wait(list(going), num_returns=1)
        for one in ready:
            patient = going.pop(one)
            outcome = _got(ray, one, patient)
            if outcome is None:
                cluster.sends = True
                waiting.append(patient)
                continue
            yield patient, outcome
            waiting.extend(Patient(path) for path in outcome.others if path not in seen)
            seen.update(outcome.others)


@dataclass(slots=True)
class _Cluster:
    """The nodes, and what they were sent. Once a node does not see a run, files are sent with all others."""

    ray: Any
    seconds: float
    sends: bool = False
    _projects: dict[str, Any] = field(default_factory=dict)

    def begun(self, patient: Patient) -> Any:
        """The task that examines a run on some node; raises where its files cannot be read or sent."""
        task = self.ray.remote(max_retries=RETRIES, num_cpus=1)(_examined_there)
        home = os.getcwd()
        if not self.sends:
            return task.remote(patient, self.seconds, home, stamp_of(patient))
        project = project_of(patient)
        around = () if project is None else self._project(project)
        return task.remote(patient, self.seconds, home, None, packed_run(patient), around)

    def _project(self, root: str) -> Any:
        if root not in self._projects:
            self._projects[root] = self.ray.put(packed_project(root))
        return self._projects[root]


def _got(ray: Any, task: Any, patient: Patient) -> Outcome | None:
    try:
        outcome: Outcome | None = ray.get(task)
    except Exception as problem:
        said = str(problem).strip().splitlines()[-1:]
        return failed(patient.path, f"its node gave no answer: {' '.join(said)}")
    return outcome


def _examined_there(
    patient: Patient,
    seconds: float,
    home: str,
    stamp: Stamp | None,
    run: Parcel = (),
    project: Parcel = (),
) -> Outcome | None:
    """On a node: examine a run under the path that it has for whoever asked; None where it is not seen."""
    if stamp is not None:
        return _examined_in_place(patient, seconds, home, stamp)
    with laid_out((project, run), home) as root:
        there = Patient(below(root, patient.path), tuple(below(root, one) for one in patient.files))
        return _as_at_home(examined(there, seconds), root)


def _examined_in_place(patient: Patient, seconds: float, home: str, stamp: Stamp) -> Outcome | None:
    before = os.getcwd()
    try:
        os.chdir(home)
        return examined(patient, seconds) if is_seen(patient, stamp) else None
    except OSError:
        return None
    finally:
        os.chdir(before)


def _as_at_home(outcome: Outcome, root: str) -> Outcome:
    """What was found out, with the paths that the files have for whoever asked."""
    summary = from_json(as_json(outcome.summary).replace(root, ""))
    assert summary is not None
    return Outcome(summary, tuple(one.replace(root, "", 1) for one in outcome.others))
