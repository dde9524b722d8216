"""Which folders of a tree are runs."""

from __future__ import annotations

from pathlib import Path

from stethoscope.triage.run_paths import runs_below
from tests.compare.runs import losses, write


def names(root: Path) -> list[str]:
    return sorted(str(run.path.relative_to(root)) for run in runs_below(root, str(root)).runs)


def test_nested_sweeps_and_versions_are_runs_each(tmp_path: Path) -> None:
    for name in ("sweep/0", "sweep/1", "deep/er/x", "lightning_logs/version_0", "lightning_logs/version_1"):
        write(tmp_path / name, losses(1))
    expected = ["deep/er/x", "lightning_logs/version_0", "lightning_logs/version_1", "sweep/0", "sweep/1"]
    assert names(tmp_path) == expected


def test_folders_of_checkpoints_and_parts_of_a_run_are_none(tmp_path: Path) -> None:
    run = write(tmp_path / "a", losses(1))
    for part in ("checkpoint-500", "logs", "val"):
        (run / part).mkdir()
        (run / part / "metrics.csv").write_text((run / "train.csv").read_text())
    (run / "model.pt").write_bytes(b"PK")
    write(tmp_path / "b", losses(2))
    assert names(tmp_path) == ["a", "b"]


def test_a_log_beside_runs_is_examined_by_itself(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "runs" / name, losses(1))
    (tmp_path / "runs" / "all.csv").write_text((tmp_path / "runs" / "a" / "train.csv").read_text())
    found = {run.path.name: run.holds_others for run in runs_below(tmp_path, str(tmp_path)).runs}
    assert found == {"runs": True, "a": False, "b": False}


def test_a_folder_without_runs_has_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "config.yaml").write_text("lr: 1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "noise.csv").write_bytes(bytes(range(256)) * 20)
    assert names(tmp_path) == []


def test_a_program_that_failed_before_it_logged_a_number_is_a_run(tmp_path: Path) -> None:
    for name, said in (
        ("failed", "start\nTraceback (most recent call last):\nKeyError: 'lr'\n"),
        ("fine", "start\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "slurm-12.out").write_text(said)
    assert names(tmp_path) == ["failed"]


def test_what_is_a_log_by_its_name_and_cannot_be_read_is_told(tmp_path: Path) -> None:
    for name in ("events.out.tfevents.17.node", "metrics.jsonl", "train.csv", "picture.raw"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 20)
    (tmp_path / "progress.csv").write_bytes(b"")
    below = runs_below(tmp_path, "runs")
    assert below.runs == ()
    assert sorted(one.file for one in below.unread) == [
        "runs/events.out.tfevents.17.node",
        "runs/metrics.jsonl",
    ]
