"""A triage on a real Ray cluster of two nodes, which see the disk with the runs or do not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stethoscope.triage import Summary, triage
from stethoscope.triage.examining import Patient
from stethoscope.triage.parcels import stamp_of
from stethoscope.triage.ray_workers import _examined_there, examined_by_ray
from stethoscope.triage.summary import as_json, from_json
from tests.compare.runs import losses, write
from tests.prescription.patients import LOG, sick_project

pytest.importorskip("ray", reason="Ray is not installed: a triage on a cluster is not tested")

# Ray and what it loads warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster(two_nodes: str) -> Any:
    from stethoscope.trials.ray_cluster import connected

    return connected(two_nodes)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed, name in enumerate("abc"):
        write(tmp_path / "runs" / name, losses(seed))
    project = sick_project(tmp_path / "runs" / "nano")
    steps = "".join(f"step {step}: loss {2.0 / (1 + step / 20):.4f}\n" for step in range(0, 100, 10))
    (project / "train.log").write_text(steps + LOG)
    return tmp_path / "runs"


@pytest.fixture
def unseen(runs: Path) -> Iterator[str]:
    """The runs by a path that leads there in this process alone."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no folder of this process's own files: every process here sees the same disk")
    handle = os.open(runs.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(handle, False)
    moved = os.dup2(handle, 900, inheritable=False)
    yield f"/proc/self/fd/{moved}/runs"
    os.close(moved)
    os.close(handle)


def told(path: str, cluster: Any = None) -> list[Summary]:
    examine = None if cluster is None else (lambda patients, limit: examined_by_ray(cluster, patients, limit))
    found = triage(path, examine=examine).summaries
    return [replace(one, seconds=0.0) for one in sorted(found, key=lambda one: one.path)]


def test_nodes_that_see_the_runs_say_the_same(runs: Path, cluster: Any) -> None:
    assert told(str(runs), cluster) == told(str(runs))


def test_nodes_that_do_not_see_the_runs_say_the_same(runs: Path, unseen: str, cluster: Any) -> None:
    patient = Patient(f"{unseen}/a")
    ask = cluster.remote(num_cpus=1)(_examined_there)
    assert cluster.get(ask.remote(patient, 60, os.getcwd(), stamp_of(patient))) is None, (
        "it is seen after all"
    )
    there = told(unseen, cluster)
    assert there == [from_json(as_json(one).replace(str(runs), unseen)) for one in told(str(runs))]
    assert [one.verdict for one in there if one.error] == []
    assert len(there) == 4


def test_a_run_that_goes_away_on_the_way_is_a_line(runs: Path, cluster: Any) -> None:
    shutil.rmtree(runs / "b")
    patients = [Patient(str(runs / name)) for name in "ab"]
    found = {patient.path: outcome.summary for patient, outcome in examined_by_ray(cluster, patients, 60)}
    assert found[str(runs / "a")].error == ""
    assert found[str(runs / "b")].error != ""
