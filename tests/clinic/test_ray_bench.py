"""The bench on a real Ray cluster of two nodes, on this machine."""

from __future__ import annotations

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


def test_a_cluster_makes_and_diagnoses_as_this_machine_does(tmp_path: Path, two_nodes: str) -> None:
    task = tasks()["gratings"]
    wanted = [
        Specimen(task, (), 2),
        Specimen(task, (Planted(form_of(task, "labels-wrong"), 2),), 2),
    ]
    cluster = RayBench(two_nodes)
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
