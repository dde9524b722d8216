"""Runs examined on a cluster give what they give here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stethoscope.triage.examining import Patient, examined
from stethoscope.triage.ray_workers import examined_by_ray
from tests.compare.runs import losses, write


class Cluster:
    """What is used of Ray, with the work done when its result is asked for; `lost` nodes give none."""

    def __init__(self, lost: str = "") -> None:
        self.lost = lost

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **_: object) -> Callable[[Callable[..., Any]], Any]:
        return lambda function: type("Task", (), {"remote": staticmethod(lambda *given: (function, given))})

    def wait(self, tasks: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task: Any) -> Any:
        function, given = task
        if given[0].path == self.lost:
            raise RuntimeError("Traceback\nNodeDied: gone")
        return function(*given)


def test_a_cluster_gives_the_same_summaries(tmp_path: Path) -> None:
    patients = [Patient(str(write(tmp_path / name, losses(seed)))) for seed, name in enumerate("abc")]
    told = {patient.path: outcome.summary for patient, outcome in examined_by_ray(Cluster(), patients, 60)}
    for patient in patients:
        here = examined(patient, 60).summary
        assert told[patient.path].verdict == here.verdict
        assert told[patient.path].last_step == here.last_step


def test_a_node_that_is_lost_is_a_line() -> None:
    ((_, outcome),) = examined_by_ray(Cluster(lost="a"), [Patient("a")], 60)
    assert outcome.summary.error == "its node gave no answer: NodeDied: gone"
