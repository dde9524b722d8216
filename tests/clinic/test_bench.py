"""The bench counts rightly: which faults do harm, what is held out, and how often an opinion is right."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench import bench, bench_text, plan, split
from stethoscope.clinic.faultbench.consequence import consequential, is_consequential, rank_sum_p
from stethoscope.clinic.faultbench.label import Fault, Label, read_label, written
from stethoscope.clinic.faultbench.measured import Measured, joined, keep, measured_in, recorded
from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.opinion import Evidence, Opinion
from stethoscope.clinic.faultbench.packing import pack, unpack, without_weights
from stethoscope.clinic.faultbench.record import read_record, record_of, write
from stethoscope.clinic.faultbench.scoring import Judged, calibration_error, figures
from stethoscope.clinic.faultbench.split import Part, is_held_out, part_of
from stethoscope.clinic.faultbench.task import tasks

METRICS = {"gratings": Metric("accuracy", "max")}


def fault(cause: str = "labels-wrong", *, benign: bool = False, held_out: bool = False) -> Fault:
    return Fault(cause, "", 0, cause, (cause, f"{cause}-too"), "data", benign, 0, held_out)


def label(number: int, *faults: Fault, score: float = 0.9, **given: object) -> Label:
    known: dict[str, object] = {
        "task": "gratings",
        "seed": number,
        "checkpoints": {},
        "logged": score,
    } | given
    return Label(
        name=f"run-{number}-{len(faults)}",
        faults=faults,
        places=(),
        nuisances={"lr": "0.1"},
        steps=100,
        ended="finished",
        seconds=1.0,
        score=score,
        **known,
    )


def test_the_rank_sum_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    for _ in range(20):
        ours, theirs = np.round(rng.normal(0.5, 1, 6), 1), np.round(rng.normal(0, 1, 25), 1)
        expected = stats.mannwhitneyu(ours, theirs, alternative="two-sided", method="asymptotic").pvalue
        assert rank_sum_p(list(ours), list(theirs)) == pytest.approx(expected, abs=1e-9)
    assert rank_sum_p([1.0] * 5, [1.0] * 20) == 1.0


def test_a_fault_is_consequential_where_its_runs_score_or_log_otherwise() -> None:
    rng = np.random.default_rng(1)
    healthy = [label(n, score=0.9 + 0.01 * rng.normal()) for n in range(20)]
    harmful = [label(100 + n, fault(), score=0.5 + 0.01 * rng.normal()) for n in range(5)]
    harmless = [label(200 + n, fault("setting-ignored"), score=0.9 + 0.01 * rng.normal()) for n in range(5)]
    seen = [
        label(300 + n, fault("metric-wrong"), score=0.9 + 0.01 * rng.normal(), logged=0.1) for n in range(5)
    ]
    few = [label(400 + n, fault("overfitting"), score=0.1) for n in range(4)]
    cells = consequential([*healthy, *harmful, *harmless, *seen, *few])
    assert cells == {
        ("gratings", "labels-wrong", 0): True,
        ("gratings", "setting-ignored", 0): False,
        ("gratings", "metric-wrong", 0): True,
    }
    assert is_consequential(harmful[0], cells) is True
    assert is_consequential(harmless[0], cells) is False
    assert is_consequential(few[0], cells) is None
    assert is_consequential(label(1, fault("setting-ignored"), fault()), cells) is True


def test_runs_of_held_out_tasks_operators_and_forms_are_never_tuned_on() -> None:
    kept = next(name for name in operators() if not is_held_out(name))
    other = next(name for name in operators() if is_held_out(name))
    assert part_of(label(0, fault(kept))) is Part.TUNING
    assert part_of(label(0, fault(other))) is Part.HELD_OUT
    assert part_of(label(0, fault(kept, held_out=True))) is Part.HELD_OUT
    assert part_of(label(0, fault(kept), task="denoiser")) is Part.NEW_TASK
    assert part_of(label(0, fault(kept), task="translator")) is Part.NEW_TASK
    assert part_of(label(0, fault(kept), task="chargpt")) is Part.TUNING, "it was opened"
    assert part_of(label(1, fault(kept, held_out=True), task="chargpt")) is Part.TUNING
    assert [part_of(label(seed)) for seed in (0, 1)] == [Part.TUNING, Part.HELD_OUT]
    share = sum(map(is_held_out, operators())) / len(operators())
    assert 0.1 < share < 0.3


def test_the_tasks_that_are_held_out_are_there() -> None:
    assert set(split.TASKS) <= set(tasks())
    for sealed in (split.TASKS, split.SEALED & set(tasks())):
        variants = {name for name in tasks() if name.removesuffix("_ddp") in sealed}
        assert variants == sealed, "a variant of a held-out task is held out with it"


def test_what_was_added_later_moves_nothing_that_was_planned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned() -> set[str]:
        plan.cells_of_the_bench.cache_clear()
        return {one.name for one in plan.full(first)}

    first = [task for task in tasks().values() if task.name not in split.ADDED]
    cells = planned()
    monkeypatch.setattr(plan, "tasks", lambda: {task.name: task for task in first})
    assert planned() == cells
    plan.cells_of_the_bench.cache_clear()


def test_figures_count_alarms_causes_and_checkpoints() -> None:
    scores = {"checkpoints/a.pt": 0.9, "checkpoints/b.pt": 0.5}
    right = Opinion("sick", (("labels-wrong-too", 0.9),), checkpoint="runs/checkpoints/a.pt")
    third = Opinion("at-risk", (("x", 0.5), ("y", 0.3), ("labels-wrong", 0.2)), checkpoint="b.pt")
    silent = Opinion("healthy")
    runs = [
        Judged(label(0, fault(), checkpoints=scores), right, True),
        Judged(label(1, fault(), checkpoints=scores), third, True),
        Judged(label(2, fault()), silent, True),
        Judged(label(3, fault("setting-ignored")), silent, False),
        Judged(label(4), silent, None),
        Judged(label(5, fault("cyclic-learning-rate", benign=True)), third, None),
    ]
    found = figures(runs, METRICS, {"gratings": 0.01})
    assert (found.flagged.right, found.flagged.of) == (2, 3)
    assert (found.first.right, found.first_three.right) == (1, 2)
    assert (found.latent_first_three.right, found.latent_first_three.of) == (0, 1)
    assert (found.false_alarms.right, found.false_alarms.of) == (1, 2)
    assert (found.checkpoint.right, found.checkpoint.of) == (1, 2)
    assert (found.planted_flagged.right, found.planted_flagged.of) == (2, 4)
    assert (found.planted_first.right, found.planted_first_three.right) == (1, 2)


def test_probabilities_that_come_true_have_no_calibration_error() -> None:
    sure = Opinion("sick", (("labels-wrong", 1.0),))
    assert calibration_error([Judged(label(n, fault()), sure, True) for n in range(20)]) == 0.0
    assert calibration_error([Judged(label(n, fault("other")), sure, True) for n in range(20)]) == 1.0


def test_equal_probabilities_are_not_parted_by_who_was_right() -> None:
    even = Opinion("sick", (("labels-wrong", 0.5),))
    half = [Judged(label(n, fault() if n % 2 else fault("other")), even, True) for n in range(400)]
    assert calibration_error(half) < 0.15


def test_the_plan_has_the_shares_that_it_should() -> None:
    chosen = plan.full(tasks().values())
    assert len({specimen.name for specimen in chosen}) == len(chosen)
    kinds = Counter(plan._kind(specimen) for specimen in chosen)
    assert len(chosen) >= 2000
    assert kinds["double"] >= 0.2 * len(chosen)
    assert kinds["healthy"] + kinds["benign"] >= max(500, 0.3 * len(chosen))
    assert {one.form.operator for specimen in chosen for one in specimen.planted} == set(operators())
    cells = set(plan.cells_of_the_bench())
    alone = [one for one in chosen if plan._kind(one) in {"single", "double"}]
    known = {(one.task.name, fault.form.operator, fault.level) for one in alone for fault in one.planted}
    assert known == cells, "of whatever is planted it is measured whether it does harm"
    ci = plan.sample(chosen)
    assert len(ci) <= plan.CI_SIZE
    small = Counter(plan._kind(specimen) for specimen in ci)
    assert small["healthy"] + small["benign"] >= 0.3 * len(ci)
    assert small["double"] >= 0.2 * len(ci)
    assert {specimen.task.name for specimen in ci} == set(tasks())
    assert {one.form.operator for specimen in ci for one in specimen.planted} == set(operators())
    levels = Counter(one.level for specimen in ci for one in specimen.planted)
    assert min(levels[level] for level in range(3)) >= 15
    assert {specimen.name for specimen in ci} <= {specimen.name for specimen in chosen}
    assert [one.name for one in ci] == [one.name for one in plan.sample(chosen)]


def test_what_is_packed_is_unpacked_without_weights(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "run-1-0" / "checkpoints").mkdir(parents=True)
    (made / "run-1-0" / "train.csv").write_text("step,loss\n1,2\n", encoding="utf-8")
    (made / "run-1-0" / "checkpoints" / "a.pt").write_bytes(bytes(range(256)) * 100)
    written(label(1), made / "labels" / "run-1-0.json")
    without_weights(made / "run-1-0")
    pack(made, ["run-1-0"], tmp_path / "kept.tar.xz")
    assert (tmp_path / "kept.tar.xz").stat().st_size < 2000
    unpack(tmp_path / "kept.tar.xz", tmp_path / "back")
    assert read_label(tmp_path / "back" / "labels" / "run-1-0.json") == label(1)
    assert (tmp_path / "back" / "run-1-0" / "checkpoints" / "a.pt").stat().st_size == 25600
    assert bench.labels_in(tmp_path / "back") == [label(1)]


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    fresh = measured_in([label(n, score=0.9 + 0.001 * n) for n in range(20)])
    keep(Measured({("gratings", "x", 1): True}, fresh.noise), tmp_path / "measured.json")
    again = recorded(tmp_path / "measured.json")
    assert again.cells == {("gratings", "x", 1): True}
    assert again.noise["gratings"] == pytest.approx(0.0059, abs=1e-4)
    assert recorded(tmp_path / "none.json") == Measured()
    assert joined(again, Measured({("gratings", "x", 1): False})).cells == {("gratings", "x", 1): False}


def test_the_table_has_a_row_for_each_part_and_evidence(tmp_path: Path) -> None:
    labels = [label(n) for n in range(4)] + [label(10, fault())]
    said = {evidence: {one.name: Opinion("healthy") for one in labels} for evidence in Evidence}
    bench.keep_opinions(said, tmp_path / "opinions.jsonl")
    assert bench.kept_opinions(tmp_path / "opinions.jsonl") == said
    found = bench.results(labels, said, Measured({("gratings", "labels-wrong", 0): True}))
    table = bench_text.markdown(found)
    assert table.count("| held out, all |") == 2
    assert all(goal.startswith("Goal") for goal in bench_text.goals(found))


def test_a_table_says_where_harm_was_not_measured() -> None:
    labels = [label(2 * n, fault()) for n in range(3)]
    said = {evidence: {one.name: Opinion("sick") for one in labels} for evidence in Evidence}
    found = bench.results(labels, said, Measured())
    assert "| 1.00 (3/3) * |" in bench_text.markdown(found)
    assert bench_text.NOTE in list(bench_text.goals(found))


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    labels = [label(n) for n in range(4)] + [label(10, fault(), checkpoints={"a.pt": 0.9, "b.pt": 0.1})]
    named = Opinion("sick", (("labels-wrong", 0.75),), checkpoint="a.pt")
    said = {evidence: {one.name: named for one in labels} for evidence in Evidence}
    made = record_of(labels, said, [], Measured({("gratings", "labels-wrong", 0): True}, {"gratings": 0.01}))
    assert made.kinds == {"healthy": 4, "one fault": 1}
    assert made.harm_known == 1
    assert [one.part for one in made.tasks] == ["gratings"]
    assert [one.part for one in made.operators] == ["labels-wrong"]
    assert {name: sum(one.of for one in bins) for name, bins in made.reliability.items()} == {
        "tuning": 3,
        "held out, all": 2,
    }
    write(made, tmp_path / "record.json")
    again = read_record(tmp_path / "record.json")
    assert again.tools == made.tools
    assert [one.figures.first for one in again.parts] == [one.figures.first for one in made.parts]
    assert [one.figures.checkpoint for one in again.tasks] == [one.figures.checkpoint for one in made.tasks]
    write(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("utf-8") == (tmp_path / "record.json").read_text("utf-8")


def test_the_command_scores_compares_and_records(tmp_path: Path) -> None:
    run = tmp_path / "bench" / "run-0-0" / tasks()["gratings"].run
    run.mkdir(parents=True)
    lines = [f"{step},{2.0 * 0.97**step + 0.1}" for step in range(100)]
    (run / "log.csv").write_text("step,loss\n" + "\n".join(lines) + "\n", encoding="utf-8")
    written(label(0), tmp_path / "bench" / "labels" / "run-0-0.json")
    (tmp_path / "peers").mkdir()
    asked = ["--score-only", "--into", "bench", "--peers", "peers", "--record", "record.json", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "stethoscope", "clinic", "bench", *asked],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(0/1)" in done.stdout
    assert "prior-only" in done.stdout
    assert "runmedic is left out; python -m venv" in done.stderr
    record = read_record(tmp_path / "record.json")
    assert record.runs == 1
    assert {one.tool for one in record.tools} == {"stethoscope", "prior-only", "random-ranking"}
