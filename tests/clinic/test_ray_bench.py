"""The bench on a real Ray cluster of two nodes, on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stethoscope.clinic.faultbench import bench
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.ray_bench import RayBench
from stethoscope.clinic.faultbench.specimen import Planted, Specimen
from stethoscope.clinic.faultbench.task import form_of, tasks

pytest.importorskip("torch")
ray = pytest.importorskip("ray", reason="Ray is not installed: the bench on a cluster is not tested")

# Ray and what it loads warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two nodes with one core each."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def test_a_cluster_makes_and_diagnoses_as_this_machine_does(tmp_path: Path, address: str) -> None:
    task = tasks()["gratings"]
    wanted = [
        Specimen(task, (), 2),
        Specimen(task, (Planted(form_of(task, "labels-wrong"), 2),), 2),
    ]
    cluster = RayBench(address)
    assert cluster.cores == 2
    told: list[str] = []
    there = cluster.make_all(wanted, tmp_path / "there", lambda done, of, name: told.append(name))
    assert sorted(told) == sorted(one.name for one in wanted)
    assert [label.ended for label in there] == ["finished", "finished"]
    assert bench.labels_in(tmp_path / "there") == sorted(there, key=lambda label: label.name)
    assert not list((tmp_path / "there").glob(".coming-*"))

    said = cluster.ask(there, tmp_path / "there", Evidence.ALL)
    here = bench.ask(there, tmp_path / "there", Evidence.ALL, 1)
    assert {name: (one.verdict, one.causes) for name, one in said.items()} == {
        name: (one.verdict, one.causes) for name, one in here.items()
    }

    told.clear()
    again = cluster.make_all(wanted, tmp_path / "there", lambda done, of, name: told.append(name))
    assert again == there
    assert told == [], "what was made is not made again"
