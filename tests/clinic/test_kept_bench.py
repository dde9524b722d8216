"""The runs that are kept with the package are scored, and no figure falls below what was reached with them.

Whoever falls below a floor has made Stethoscope worse, or has to say why not. The floors count everything
together: what single runs that are held out give is not looked at.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from stethoscope.clinic.faultbench import kept, packing, plan
from stethoscope.clinic.faultbench.kept import Reached, kept_labels, reach, read_reached, write
from stethoscope.clinic.faultbench.label import written
from stethoscope.clinic.faultbench.opinion import Evidence
from stethoscope.clinic.faultbench.record import kind_of
from stethoscope.clinic.faultbench.split import ADDED
from stethoscope.clinic.faultbench.task import tasks
from tests.clinic.test_bench import fault, label

LARGEST = 5_000_000  # bytes


def test_the_kept_runs_are_a_fair_sample() -> None:
    labels = kept_labels()
    assert 100 <= len(labels) <= plan.CI_SIZE
    assert packing.KEPT.stat().st_size <= LARGEST
    kinds = Counter(kind_of(one) for one in labels)
    assert kinds["several faults"] >= 0.2 * len(labels)
    assert kinds["healthy"] + kinds["only look sick"] >= 0.3 * len(labels)
    assert set(tasks()) - ADDED <= {one.task for one in labels} <= set(tasks())


def test_no_figure_falls_below_its_floor() -> None:
    before, now = read_reached(), reach(min(2, os.cpu_count() or 1))
    assert {evidence: now[evidence].lacks(before[evidence]) for evidence in Evidence} == {
        evidence: [] for evidence in Evidence
    }


def test_what_is_worse_by_more_than_the_margin_is_named() -> None:
    before = Reached(0.5, 0.4, 0.5, 1)
    assert before.lacks(before) == []
    assert Reached(0.46, 0.36, 0.46, 1 + kept.ALARMS).lacks(before) == []
    assert Reached(0.44, 0.4, 0.5, 0).lacks(before) == ["flagged"]
    assert Reached(0.5, 0.3, 0.4, 3).lacks(before) == ["first", "first_three", "false_alarms"]


def test_what_is_reached_on_packed_runs_is_kept(tmp_path: Path) -> None:
    made = tmp_path / "made"
    for one, losses in ((label(0), [0.99**step for step in range(200)]), (label(0, fault()), [1e9] * 200)):
        run = made / one.name / tasks()["gratings"].run
        run.mkdir(parents=True)
        lines = [f"{step},{loss}" for step, loss in enumerate(losses)]
        (run / "log.csv").write_text("step,loss\n" + "\n".join(lines) + "\n", encoding="utf-8")
        written(one, made / "labels" / f"{one.name}.json")
    packing.pack(made, ["run-0-0", "run-0-1"], tmp_path / "kept.tar.xz")
    assert [one.name for one in kept_labels(tmp_path / "kept.tar.xz")] == ["run-0-0", "run-0-1"]
    found = reach(1, tmp_path / "kept.tar.xz")
    assert found[Evidence.LOGS].false_alarms == 0
    write(found, tmp_path / "kept.json")
    assert read_reached(tmp_path / "kept.json") == found
