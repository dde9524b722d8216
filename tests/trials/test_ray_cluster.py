"""The same trial on a real Ray cluster of two nodes, on this machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from stethoscope.trials import Ending, LocalProcesses, run_trial
from stethoscope.trials.ray_cluster import RayCluster
from tests.trials.toy import TRAIN, lay_out, toy_trial

ray = pytest.importorskip("ray", reason="Ray is not installed: trials on a cluster are not tested")

# Ray and what it loads warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_cluster_of_two_nodes_gives_the_same_results_as_this_machine(
    tmp_path: Path, two_nodes: str
) -> None:
    project = lay_out(tmp_path / "toy")
    here = toy_trial(project, "lr", "note", folder=tmp_path / "here")
    there = toy_trial(project, "lr", "note", folder=tmp_path / "there")
    local = run_trial(here, LocalProcesses(1, tmp_path / "here" / "trials" / ".work"))
    backend = RayCluster(two_nodes)
    assert backend.slots == 2
    remote = run_trial(there, backend)
    assert remote.verdicts == local.verdicts
    assert [(one.arm, one.seed, one.score, one.key) for one in remote.outcomes] == [
        (one.arm, one.seed, one.score, one.key) for one in local.outcomes
    ]


def test_both_nodes_work(tmp_path: Path, two_nodes: str) -> None:
    """A node has one core, so runs that overlap in time were made on two."""
    times = tmp_path / "times"
    script = (
        "import time; began = time.time(); time.sleep(1)\n"
        f"open({str(times)!r}, 'a').write(f'{{began}} {{time.time()}}\\n')\n"
    )
    run_trial(toy_trial(lay_out(tmp_path / "toy", script + TRAIN), "lr", seeds=2), RayCluster(two_nodes))
    spans = sorted(tuple(map(float, line.split())) for line in times.read_text().splitlines())
    assert len(spans) == 6
    assert any(later[0] < earlier[1] for earlier, later in pairwise(spans))


def test_a_run_that_breaks_on_a_node_loses_no_other(tmp_path: Path, two_nodes: str) -> None:
    project = lay_out(tmp_path / "toy", "import sys\nif sys.argv[2] == '2': sys.exit('bad')\n" + TRAIN)
    result = run_trial(toy_trial(project, "lr", seeds=3), RayCluster(two_nodes))
    assert {one.seed for one in result.outcomes if one.ending is Ending.BROKEN} == {2}
    assert {one.seed for one in result.outcomes if one.ending is Ending.SCORED} == {1, 3}
