"""Where the logs lie tells which folders are runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.logs.run_folders import run_folders
from stethoscope.run import Log
from stethoscope.run.file_times import LogFile
from stethoscope.run.folder import Entry

ROOT = Path("tree")


def told_apart(*files: str) -> dict[str, str]:
    """The run of every folder with a log."""
    logs = [LogFile(Log(file, "CSV table"), Entry(ROOT / file, file, 1, 0.0)) for file in files]
    found = run_folders(logs, ROOT)
    return {
        home.relative_to(ROOT).as_posix(): folder.relative_to(ROOT).as_posix()
        for home, folder in found.items()
    }


def test_folders_side_by_side_are_runs() -> None:
    assert told_apart("a/train.csv", "b/train.csv") == {"a": "a", "b": "b"}


def test_a_run_has_the_folders_that_keep_a_part_of_it() -> None:
    told = told_apart("a/train.log", "a/tb/events.out.tfevents.1", "a/checkpoint-500/trainer_state.json")
    assert set(told.values()) == {"a"}


@pytest.mark.parametrize("part", ["logs", "train", "val", "tensorboard", "rank_0", "metrics", "vis_data"])
def test_a_run_may_have_its_only_log_in_a_part(part: str) -> None:
    assert told_apart(f"a/{part}/x.csv", f"b/{part}/x.csv") == {f"a/{part}": "a", f"b/{part}": "b"}


def test_training_and_validation_folders_are_one_run() -> None:
    assert set(told_apart("train/events.out.tfevents.1", "validation/events.out.tfevents.2").values()) == {
        "."
    }


def test_a_lone_log_above_many_runs_is_by_itself() -> None:
    told = told_apart("launcher.log", "sweep/a/train.csv", "sweep/b/train.csv")
    assert told == {".": ".", "sweep/a": "sweep/a", "sweep/b": "sweep/b"}


def test_a_log_above_one_folder_is_of_that_run() -> None:
    assert set(told_apart("nohup.out", "lightning_logs/version_0/metrics.csv").values()) == {"."}


def test_what_frameworks_keep_beside_a_log_is_of_its_run() -> None:
    told = told_apart(
        "trainer_state.json", "runs/Dec01_host/events.out.tfevents.1", "wandb/run-1/files/output.log"
    )
    assert set(told.values()) == {"."}


def test_the_curves_of_add_scalars_are_of_one_run() -> None:
    told = told_apart("events.out.tfevents.1", "loss_a/events.out.tfevents.2", "loss_b/events.out.tfevents.3")
    assert set(told.values()) == {"."}


def test_a_file_from_elsewhere_is_of_its_own_folder() -> None:
    entry = Entry(Path("/tmp/kept.log"), "<stdin>", 1, 0.0)
    assert run_folders([LogFile(Log("<stdin>", "CSV table"), entry)], Path("/tmp/kept.log")) == {
        Path("/tmp"): Path("/tmp")
    }
