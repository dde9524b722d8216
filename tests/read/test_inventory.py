"""Every file at a path is met, and said what it was taken for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead, SeveralRuns
from stethoscope.inventory import Inventory, Kind, take_stock
from stethoscope.read import read


def csv(loss: float = 1.0, first: int = 0, last: int = 30) -> str:
    return "step,loss\n" + "".join(f"{step},{loss / (1 + step / 10):.6f}\n" for step in range(first, last))


def put(folder: Path, **files: str | bytes) -> Path:
    """Files whose names are written with __ for a slash and _dot_ for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def taken(inventory: Inventory) -> dict[str, tuple[Kind, str]]:
    everything = [*(met for run in inventory.runs for met in run.files), *inventory.files]
    return {os.path.relpath(met.file, inventory.path): (met.kind, met.said) for met in everything}


def test_every_file_is_said_what_it_was_taken_for(tmp_path: Path) -> None:
    put(
        tmp_path,
        train_dot_csv=csv(),
        config_dot_yaml="lr: 0.1\nsteps: 3\n",
        broken_dot_yaml="a: [1\n",
        train_dot_py="import torch\n",
        README_dot_md="# Notes\n",
        ckpt__model_200_dot_pt=b"PK\3\4",
        notes_dot_txt="nothing to see\n",
        empty_dot_log="",
        picture_dot_png=b"\x89PNG",
        blob_dot_xyz=bytes(range(256)) * 8,
        _dot_hidden="1\n",
    )
    told = taken(take_stock(tmp_path))
    assert told["train.csv"] == (Kind.LOG, "CSV table")
    assert told["config.yaml"] == (Kind.SETTINGS, "2 settings")
    assert told["broken.yaml"][0] is Kind.SETTINGS
    assert told["broken.yaml"][1].startswith("not read: ")
    assert told["train.py"][0] is Kind.SOURCE
    assert told["README.md"][0] is Kind.DOCUMENT
    assert told["ckpt/model_200.pt"] == (Kind.CHECKPOINT, "step 200")
    assert told["notes.txt"] == (Kind.NOT_READ, "a text without numbers")
    assert told["empty.log"] == (Kind.NOT_READ, "empty")
    assert told["picture.png"] == (Kind.NOT_READ, "a picture or recording")
    assert told["blob.xyz"][0] is Kind.NOT_READ
    assert told[".hidden"] == (Kind.NOT_READ, "hidden")
    assert len(told) == sum(len(files) for _, _, files in os.walk(tmp_path))


def test_each_run_of_a_tree_is_by_itself(tmp_path: Path) -> None:
    put(tmp_path, a__train_dot_csv=csv(1.0), b__logs__train_dot_csv=csv(3.0), b__conf_dot_yaml="lr: 1\n")
    put(tmp_path, README_dot_md="# Two runs\n")
    inventory = take_stock(tmp_path)
    assert [os.path.relpath(run.path, tmp_path) for run in inventory.runs] == ["a", "b"]
    assert [len(run.files) for run in inventory.runs] == [1, 2]
    assert [met.kind for met in inventory.files] == [Kind.DOCUMENT]


def test_runs_in_one_folder_are_known_by_their_logs(tmp_path: Path) -> None:
    put(tmp_path, good_dot_csv=csv(1.0), bad_dot_csv=csv(3.0))
    assert [Path(run.path).name for run in take_stock(tmp_path).runs] == ["bad.csv", "good.csv"]


def test_a_second_telling_is_named(tmp_path: Path) -> None:
    put(tmp_path, one_dot_csv=csv(), two_dot_csv=csv())
    (run,) = take_stock(tmp_path).runs
    assert [(Path(met.file).name, Path(met.same_as).name) for met in run.files] == [
        ("one.csv", ""),
        ("two.csv", "one.csv"),
    ]
    assert len(run.series["loss"].sources) == 2


def test_a_log_kept_in_many_files_names_them_all(tmp_path: Path) -> None:
    home = tmp_path / "mlruns" / "1" / "0123456789abcdef0123456789abcdef"
    for name in ("loss", "val_loss", "lr"):
        (home / "metrics").mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{1633449194907 + step} {1 / (step + 1)} {step}\n" for step in range(20))
        (home / "metrics" / name).write_text(rows)
    (run,) = take_stock(tmp_path).runs
    assert sorted(run.series) == ["loss", "lr", "val/loss"]
    told = {os.path.relpath(met.file, home): met.said for met in run.files}
    assert told == {
        "metrics": "MLflow file store",
        "metrics/loss": "part of metrics",
        "metrics/lr": "part of metrics",
        "metrics/val_loss": "part of metrics",
    }


def test_a_restart_is_told_with_what_was_abandoned(tmp_path: Path) -> None:
    put(tmp_path, train_dot_csv=csv(1.0, 0, 30) + csv(1.1, 20, 40).removeprefix("step,loss\n"))
    (run,) = take_stock(tmp_path).runs
    assert [(segment.first, segment.last) for segment in run.segments] == [(0, 29), (20, 39)]
    assert [len(series) for series in run.abandoned] == [10]
    assert len(run.series["loss"].series) == 40


def test_a_folder_without_a_log_is_listed_all_the_same(tmp_path: Path) -> None:
    put(tmp_path, train_dot_py="import torch\n")
    inventory = take_stock(tmp_path)
    assert inventory.runs == ()
    assert taken(inventory) == {"train.py": (Kind.SOURCE, "")}


# --- several paths


def test_logs_of_one_run_given_together_are_read_as_one(tmp_path: Path) -> None:
    put(tmp_path, a_dot_csv=csv(1.0, 0, 30), b_dot_csv=csv(1.0, 30, 60), other_dot_csv=csv(5.0))
    run = read([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert len(run.series["loss"]) == 60
    assert run.path == str(tmp_path)


def test_a_log_outside_the_run_folder_joins_it(tmp_path: Path) -> None:
    put(tmp_path, run__train_dot_csv=csv(), slurm_dot_csv=csv(), run__conf_dot_yaml="lr: 1\n")
    run = read([tmp_path / "run", tmp_path / "slurm.csv"])
    assert len(run.logs) == 2
    assert run.recipe is not None


def test_paths_may_be_relative_and_leave_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a__x_dot_csv=csv(1.0, 0, 30), b__x_dot_csv=csv(1.0, 30, 60), here__y="")
    monkeypatch.chdir(tmp_path / "here")
    run = read(["../a/x.csv", "../b/x.csv"])
    assert (run.path, len(run.series["loss"])) == ("..", 60)


def test_two_runs_given_together_are_refused_by_name(tmp_path: Path) -> None:
    put(tmp_path, a__x_dot_csv=csv(1.0), b__x_dot_csv=csv(3.0))
    with pytest.raises(SeveralRuns, match=r"more than one run: \S+/a, \S+/b\. Examine each"):
        read([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(SeveralRuns, match=r"`stethoscope \S+/a/x\.csv`"):
        read([tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"])


def test_two_runs_of_one_folder_are_refused(tmp_path: Path) -> None:
    put(tmp_path, good_dot_csv=csv(1.0), bad_dot_csv=csv(3.0))
    with pytest.raises(SeveralRuns, match=r"good\.csv"):
        read([tmp_path / "good.csv", tmp_path / "bad.csv"])


def test_standard_input_stands_alone(tmp_path: Path) -> None:
    put(tmp_path, a_dot_csv=csv())
    with pytest.raises(NothingToRead, match="examined by itself"):
        read(["-", tmp_path / "a.csv"])
    with pytest.raises(NothingToRead, match="no path"):
        read([])


def test_a_run_that_goes_on_in_the_next_version_is_one(tmp_path: Path) -> None:
    put(tmp_path, csv__version_0__metrics_dot_csv=csv(1.0, 0, 60), csv__version_0__hparams_dot_yaml="a: 1\n")
    put(tmp_path, csv__version_1__metrics_dot_csv=csv(1.0, 60, 90), csv__version_1__hparams_dot_yaml="a: 1\n")
    (run,) = take_stock(tmp_path).runs
    assert os.path.relpath(run.path, tmp_path) == "csv"
    assert len(run.files) == 4
    assert run.series["loss"].series.steps.tolist() == list(range(90))
    assert len(run.segments) == 2


def test_beside_another_run_a_run_in_two_folders_is_known_by_its_first(tmp_path: Path) -> None:
    put(tmp_path, version_0__metrics_dot_csv=csv(1.0, 0, 60), version_1__metrics_dot_csv=csv(1.0, 60, 90))
    put(tmp_path, other__metrics_dot_csv=csv(9.0, 0, 90), version_1__hparams_dot_yaml="a: 1\n")
    runs = take_stock(tmp_path).runs
    assert [os.path.relpath(run.path, tmp_path) for run in runs] == ["other", "version_0"]
    assert [len(run.files) for run in runs] == [1, 3]


def test_the_folders_of_a_resumed_trainer_are_one_run(tmp_path: Path) -> None:
    state = {"log_history": [{"step": n, "epoch": n / 9, "loss": 1 / (1 + n / 10)} for n in range(90)]}
    put(tmp_path, out__checkpoint_90__trainer_state_dot_json=json.dumps(state))
    put(
        tmp_path,
        out__runs__Nov1_host__x_dot_csv=csv(1.0, 0, 60),
        out__runs__Nov2_host__x_dot_csv=csv(1.0, 50, 90),
    )
    (run,) = take_stock(tmp_path).runs
    assert [(part.first, part.last) for part in run.segments] == [(0, 59), (50, 89)]
