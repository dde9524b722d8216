"""Runs examined by the nodes of a Ray cluster: the same work and the same results, on more machines.

Every node needs Stethoscope, and the runs have to be where they are here, as on a shared disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from stethoscope.triage.examining import Outcome, Patient, examined, failed

WAITING = 2  # tasks for each core that are sent ahead, so that no node waits
RETRIES = 1  # a node that is lost takes its runs with it


def examined_by_ray(
    ray: Any, patients: Sequence[Patient], seconds: float
) -> Iterator[tuple[Patient, Outcome]]:
    """The outcome of each run, as it is done; `ray` is connected already."""
    task = ray.remote(max_retries=RETRIES, num_cpus=1)(_examined_there)
    most = WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting = list(reversed(patients))
    seen = {patient.path for patient in patients}
    going: dict[Any, Patient] = {}
    home = os.getcwd()
    while waiting or going:
        while waiting and len(going) < most:
            patient = waiting.pop()
            going[task.remote(patient, seconds, home)] = patient
        ready, _ = ray.wait(list(going), num_returns=1)
        for one in ready:
            patient = going.pop(one)
            outcome = _got(ray, one, patient)
            yield patient, outcome
            waiting.extend(Patient(path) for path in outcome.others if path not in seen)
            seen.update(outcome.others)


def _got(ray: Any, task: Any, patient: Patient) -> Outcome:
    try:
        outcome: Outcome = ray.get(task)
    except Exception as problem:
        said = str(problem).strip().splitlines()[-1:]
        return failed(patient.path, f"its node gave no answer: {' '.join(said)}")
    return outcome


def _examined_there(patient: Patient, seconds: float, home: str) -> Outcome:
    """On a node: examine a run under the path that it has for whoever asked."""
    try:
        os.chdir(home)
    except OSError:
        return failed(
            patient.path, f"{home} is not on this node: the runs have to lie on a disk that all share"
        )
    return examined(patient, seconds)
