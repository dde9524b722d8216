"""Which settings a run used, where they came from, and whether they changed since."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.run import ConfigFile, Run

CSV = "step,loss\n0,0.9\n10,0.8\n20,0.7\n"
YAML = """\
name: nano
scale: 2
datasets:
  train:
    name: Drawn
path:
  resume_state: ~
train:
  lr: 0.001
  total_iter: 400
logger:
  print_freq: 100
"""


def log_text(settings: str = YAML, day: str = "2025-11-29") -> str:
    lines = [
        f"{day} 14:20:10,001 INFO: traiNNer-redux: good luck!",
        f"{day} 14:20:10,100 DEBUG: {settings}",
        f"{day} 14:20:11,001 INFO: Start training from epoch: 0, iter: 0.",
    ]
    for step in (100, 200, 300, 400):
        lines.append(
            f"{day} 14:2{step // 100}:11,001 INFO: [epoch:   0, iter:{step:8,d}, lr:(1.000e-03)] "
            f"[performance: 26.1 it/s] [eta: 0:00:00] [peak VRAM: 1.71 GB] l_g_total: {1 / step:.4e} "
        )
    return "\n".join(lines) + "\n"


def write(path: Path, text: str, changed: float | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if changed is not None:
        os.utime(path, (changed, changed))
    return path


def files(run: Run) -> list[ConfigFile]:
    assert run.recipe is not None
    return list(run.recipe.files)


def at(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M:%S"))


def test_the_settings_dumped_in_a_log_are_a_record(tmp_path: Path) -> None:
    log = write(tmp_path / "train_nano_20251129_142010.log", log_text())
    run = read(tmp_path)
    (dumped,) = files(run)
    assert (dumped.origin, dumped.maintained, dumped.file) == ("log", False, str(log))
    assert run.recipe is not None
    setting = run.recipe.get("train.lr")
    assert setting is not None
    assert log.read_text().splitlines()[(setting.where.line or 0) - 1] == "  lr: 0.001"


def test_a_file_that_says_what_the_log_recorded_has_not_changed(tmp_path: Path) -> None:
    write(tmp_path / "train_nano.log", log_text())
    config = write(tmp_path / "nano.yml", YAML + "# a comment\n")
    (file,) = files(read(tmp_path))
    assert (file.file, file.changed_after_start, file.note) == (str(config), False, "")


def test_a_file_that_says_something_else_has_changed_and_the_keys_are_named(tmp_path: Path) -> None:
    write(tmp_path / "train_nano.log", log_text())
    write(tmp_path / "nano.yml", YAML.replace("0.001", "0.1") + "extra: 1\n")
    run = read(tmp_path)
    recorded, file = files(run)
    assert (recorded.origin, file.origin, file.changed_after_start) == ("log", "run", True)
    assert file.note == "differs from what the log recorded in train.lr, extra"
    assert run.recipe is not None
    effective = run.recipe.get("train.lr")
    assert effective is not None
    assert effective.value == 0.001, "what was recorded is what ran"


def test_of_many_files_the_one_with_the_recorded_name_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "train_nano.log", log_text())
    write(tmp_path / "options" / "nano.yml", YAML)
    write(tmp_path / "options" / "other.yml", YAML.replace("nano", "other"))
    assert [Path(file.file).name for file in files(read(tmp_path))] == ["nano.yml"]


def test_of_many_files_without_a_sign_none_is_taken_and_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    for name in ("a", "b", "c"):
        write(tmp_path / "options" / f"{name}.yml", "lr: 1\n")
    run = read(tmp_path)
    assert run.recipe is None
    assert "no sign which one ran; give it by --config" in run.unread[0].reason


def test_all_files_are_taken_where_there_is_no_log(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "options" / f"{name}.yml", "lr: 1\n")
    assert len(files(read(tmp_path))) == 2


@pytest.mark.parametrize(
    "name", [".pre-commit-config.yaml", "mkdocs.yml", "environment.yml", "docker-compose.yml", "package.json"]
)
def test_settings_of_other_tools_are_left_alone(tmp_path: Path, name: str) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / name, '{"a": 1}')
    assert read(tmp_path).recipe is None


@pytest.mark.parametrize("name", [".hydra/config.yaml", "hparams.yaml", "args.json"])
def test_what_a_framework_wrote_is_a_record(tmp_path: Path, name: str) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / name, '{"lr": 0.1}')
    (file,) = files(read(tmp_path))
    assert not file.maintained


def test_the_maintained_file_is_found_in_the_repository(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    kept = write(tmp_path / "options" / "train" / "nano.yml", YAML)
    write(tmp_path / "options" / "train" / "other.yml", YAML.replace("nano", "other"))
    write(tmp_path / "experiments" / "nano" / "train_nano.log", log_text())
    copied = write(tmp_path / "experiments" / "nano" / "nano.yml", YAML)
    found = files(read(tmp_path / "experiments" / "nano"))
    assert [(file.file, file.origin, file.maintained) for file in found] == [
        (str(kept), "repository", True),
        (str(copied), "run", False),
    ]


def test_the_record_comes_first_where_the_maintained_file_says_something_else(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    kept = write(tmp_path / "options" / "train" / "nano.yml", f"{YAML}later: 1\n")
    write(tmp_path / "experiments" / "nano" / "train_nano.log", log_text())
    copied = write(tmp_path / "experiments" / "nano" / "nano.yml", YAML)
    assert [file.file for file in files(read(tmp_path / "experiments" / "nano"))] == [str(copied), str(kept)]


def test_the_folder_of_the_code_is_the_repository_of_the_run(tmp_path: Path) -> None:
    kept = write(tmp_path / "project" / "configs" / "nano.yml", YAML)
    write(tmp_path / "project" / "train.py", "loss.backward()\n")
    write(tmp_path / "outputs" / "run" / "train_nano.log", log_text())
    write(tmp_path / "outputs" / "run" / "config.yml", YAML)
    run = read(tmp_path / "outputs" / "run", code=tmp_path / "project")
    assert files(run)[0].file == str(kept)


def test_the_file_that_the_source_names_is_taken_where_nothing_was_recorded(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "out" / "train.csv", CSV)
    write(tmp_path / "runs" / "train.py", 'cfg = load(open("settings.toml"))\nloss.backward()\n')
    write(tmp_path / "runs" / "settings.toml", "lr = 0.1\n")
    write(tmp_path / "runs" / "other.toml", "lr = 0.2\n")
    run = read(tmp_path / "runs" / "out", code=tmp_path / "runs")
    assert [Path(file.file).name for file in files(run)] == ["settings.toml"]
    assert files(run)[0].note == "the run did not record its settings; the source names this file"


def test_of_several_files_that_the_source_names_none_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "out" / "train.csv", CSV)
    write(tmp_path / "train.py", 'both = ["small.yml", "large.yml"]\nloss.backward()\n')
    write(tmp_path / "small.yml", "lr: 1\n")
    write(tmp_path / "large.yml", "lr: 2\n")
    assert read(tmp_path / "out", code=tmp_path).recipe is None


def test_times_tell_what_changed_after_the_start(tmp_path: Path) -> None:
    settings = "lr: 0.1\n"
    write(
        tmp_path / "train.log",
        log_text("nothing").replace("DEBUG: nothing", "INFO: go"),
        at("2025-11-29 14:24:11"),
    )
    write(tmp_path / "train.yml", settings, at("2025-11-28 10:00:00"))
    assert [file.changed_after_start for file in files(read(tmp_path))] == [False]
    write(tmp_path / "train.yml", settings, at("2025-12-02 10:00:00"))
    assert [file.changed_after_start for file in files(read(tmp_path))] == [True]


def test_a_log_in_another_time_zone_is_understood(tmp_path: Path) -> None:
    # The machine that ran wrote local times nine hours ahead of ours.
    write(tmp_path / "train.log", log_text("x"), at("2025-11-29 05:24:11"))
    write(tmp_path / "train.yml", "lr: 0.1\n", at("2025-11-29 05:19:00"))
    assert [file.changed_after_start for file in files(read(tmp_path))] == [False]
    write(tmp_path / "train.yml", "lr: 0.1\n", at("2025-11-29 05:59:00"))
    assert [file.changed_after_start for file in files(read(tmp_path))] == [True]


def test_the_times_of_a_fresh_clone_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path / "train.log", log_text("x"))
    write(tmp_path / "train.yml", "lr: 0.1\n")
    write(tmp_path / "train.py", "loss.backward()\n")
    run = read(tmp_path)
    assert [file.changed_after_start for file in files(run)] == [None]
    assert run.program is not None
    assert run.program.changed_after_start is None


def test_a_key_set_twice_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "train.yml", "lr: 1\nlr: 2\n")
    assert files(read(tmp_path))[0].note == "lr is set on lines 1 and 2; the last one counts"


def test_the_settings_that_wandb_kept_are_unwrapped(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    kept = "version: 1\n_wandb: {value: {cli: 1}}\nlr:\n  desc: null\n  value: 0.1\nnet: {value: {dim: 4}}\n"
    write(tmp_path / "wandb" / "run-1" / "files" / "config.yaml", kept)
    run = read(tmp_path)
    assert run.recipe is not None
    assert [(s.dotted, s.value, s.where.line) for s in run.recipe] == [("lr", 0.1, 5), ("net.dim", 4, 6)]
    assert not files(run)[0].maintained


def test_beside_one_log_only_settings_tied_to_it_are_taken(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", CSV)
    write(tmp_path / "b.csv", CSV)
    write(tmp_path / "one.yml", "lr: 1\n")
    write(tmp_path / "deeper" / "other.py", "loss.backward()\n")
    run = read(log)
    assert [Path(one.file).name for one in run.logs] == ["a.csv"]
    assert [Path(file.file).name for file in files(run)] == ["one.yml"]
    assert run.program is None
    write(tmp_path / "two.yml", "lr: 2\n")
    assert read(log).recipe is None
