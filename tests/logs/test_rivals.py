"""Logs of one run, of several, and of one that goes on in another folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from stethoscope.logs.rivals import belong_together, folders_of_one_run, of_one_run, runs_among
from stethoscope.run import Log, Series, Unread
from stethoscope.run.file_times import LogFile
from stethoscope.run.folder import Entry

Steps = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


def log(file: str, loss: float, first: int = 0, last: int = 50, **others: float) -> LogFile:
    """A loss that falls from this level, and others that stay where they are."""
    steps = np.arange(first, last, dtype=np.int64)
    fallen = loss / (1 + steps / 10.0)
    series = [Series("loss", "loss", steps, fallen, file)]
    series += [Series(name, name, steps, np.full(len(steps), level), file) for name, level in others.items()]
    return LogFile(Log(file, "CSV table", tuple(series)), Entry(Path(file), file, 1, float(last)))


def names(runs: list[list[LogFile]]) -> list[list[str]]:
    return [[file.entry.file for file in run] for run in runs]


def test_runs_side_by_side_are_told_apart() -> None:
    files = [log("a.csv", 1.0), log("b.csv", 3.0), log("copy.csv", 1.0)]
    assert names(runs_among(files)) == [["a.csv", "copy.csv"], ["b.csv"]]


def test_settings_and_constants_that_agree_make_no_run_of_two() -> None:
    files = [log("a/x.csv", 1.0, loss_scale=65536.0), log("b/x.csv", 3.0, loss_scale=65536.0)]
    assert len(runs_among(files)) == 2
    unread: list[Unread] = []
    assert len(of_one_run(files, unread)) == 1
    assert [one.another_run for one in unread] == [True]


def test_a_log_that_goes_on_elsewhere_belongs_to_the_run() -> None:
    assert belong_together([log("a/x.csv", 1.0, 0, 50)], [log("b/x.csv", 1.0, 45, 100)])
    assert not belong_together([log("a/x.csv", 1.0, 0, 50)], [log("b/x.csv", 3.0, 0, 50)])


def test_two_tellings_belong_together() -> None:
    assert belong_together([log("a/x.csv", 1.0)], [log("b/x.csv", 1.0)])


def written_by(form: str, file: str, steps: Steps, values: Values, tag: str = "loss") -> LogFile:
    series = Series("loss", tag, steps, values, file)
    return LogFile(Log(file, form, (series,)), Entry(Path(file), file, 1, 1.0))


def test_a_curve_of_add_scalars_is_no_rival_of_its_run() -> None:
    steps = np.arange(50, dtype=np.int64)
    form = "TensorBoard event file"
    main = written_by(form, "run/events.1", steps, 2.0 / (1 + steps))
    curve = written_by(form, "run/loss_train/events.2", steps, 3.0 / (1 + steps), "loss/train")
    unread: list[Unread] = []
    assert len(of_one_run([main, curve], unread)) == 2
    assert unread == []


def test_a_log_that_counts_micro_steps_is_no_rival() -> None:
    steps = np.arange(200, dtype=np.int64)
    values = 9.0 / (1 + steps) + 0.001 * np.sin(steps)
    events = written_by("TensorBoard event file", "run/tb/events.1", steps, values)
    printed = written_by("printed", "run/train.log", steps * 8, values)
    unread: list[Unread] = []
    assert len(of_one_run([events, printed], unread)) == 2
    assert unread == []


def test_a_run_of_another_name_is_another_run_of_wandb() -> None:
    steps = np.arange(20, dtype=np.int64)
    form = "W&B run file"
    first = written_by(form, "wandb/offline-1/run-abc.wandb", steps, 3.0 / (1 + steps))
    resumed = written_by(form, "wandb/offline-2/run-abc.wandb", steps + 10, 2.0 / (1 + steps))
    other = written_by(form, "wandb/offline-3/run-xyz.wandb", steps + 30, 1.0 / (1 + steps))
    assert names(runs_among([first, resumed, other])) == [
        ["wandb/offline-1/run-abc.wandb", "wandb/offline-2/run-abc.wandb"],
        ["wandb/offline-3/run-xyz.wandb"],
    ]


def seed(file: str, number: int, last: int = 60) -> LogFile:
    """A loss with noise of its own, and an accuracy that comes close in any seed."""
    chance = np.random.default_rng(number)
    steps = np.arange(10, 10 * last + 10, 10, dtype=np.int64)
    loss = 2.0 / (1 + steps / 100) * (1 + 0.1 * chance.standard_normal(len(steps)))
    accuracy = 0.9 + 0.001 * chance.standard_normal(len(steps))
    series = (
        Series("loss", "loss", steps, loss.round(4), file),
        Series("val/accuracy", "a", steps, accuracy, file),
    )
    return LogFile(Log(file, "printed", series), Entry(Path(file), file, 1, float(number)))


def test_seeds_in_one_folder_are_runs_though_their_metrics_come_close() -> None:
    files = [seed(f"train_seed{number}.log", number) for number in range(3)]
    assert len(runs_among(files)) == 3
    unread: list[Unread] = []
    assert len(of_one_run(files, unread)) == 1
    assert len(unread) == 2


def test_a_seed_that_ended_early_is_no_restart_of_another() -> None:
    assert len(runs_among([seed("seed=1.log", 1, 20), seed("seed=2.log", 2)])) == 2


def test_a_run_that_ended_early_was_started_again() -> None:
    assert len(runs_among([seed("train_1.log", 1, 20), seed("train_2.log", 2)])) == 1


def test_a_loss_near_another_is_another_run() -> None:
    one = seed("a_0.log", 1)
    values = (one.log.series[0].values * 1.015).round(4)
    other = written_by("printed", "a_1.log", one.log.series[0].steps, values)
    assert len(runs_among([written_by("printed", "a_0.log", *_of(one)), other])) == 2


def _of(file: LogFile) -> tuple[Steps, Values]:
    return file.log.series[0].steps, file.log.series[0].values


def test_what_wandb_keeps_of_the_lines_is_of_its_run_however_it_counts() -> None:
    steps, values = _of(seed("x", 1))
    history = written_by("W&B run file", "wandb/run-1/run-abc.wandb", steps, values)
    stdout = written_by("printed", "train.log", steps, values)
    rows = np.arange(len(steps), dtype=np.int64)
    output = written_by("printed", "wandb/run-1/files/output.log", rows, values + 0.1)
    assert len(runs_among([stdout, history, output])) == 1


def part(folder: str, form: str, first: int, last: int, number: int = 1) -> LogFile:
    """The log of a stretch of the run with this number, kept in a folder."""
    whole = seed("x", number, 100).log.series[0]
    within = (whole.steps >= first) & (whole.steps <= last)
    return written_by(form, f"{folder}/log", whole.steps[within], whole.values[within])


def folders(*files: LogFile) -> dict[str, str]:
    found = folders_of_one_run({file.entry.path.parent: [file] for file in files})
    return {folder.as_posix(): run.as_posix() for folder, run in found.items()}


def test_a_version_that_goes_on_is_of_the_run_before() -> None:
    told = folders(part("csv/version_0", "CSV", 10, 400), part("csv/version_1", "CSV", 410, 900))
    assert set(told.values()) == {"csv/version_0"}


def test_a_version_that_begins_again_is_a_run() -> None:
    told = folders(part("csv/version_0", "CSV", 10, 400), part("csv/version_1", "CSV", 10, 900, number=2))
    assert len(set(told.values())) == 2


def test_what_goes_on_after_either_of_two_runs_is_of_neither() -> None:
    told = folders(
        part("a/v0", "CSV", 10, 400), part("a/v1", "CSV", 10, 400, number=2), part("a/v2", "CSV", 410, 900)
    )
    assert len(set(told.values())) == 3


def test_folders_of_other_names_do_not_go_on() -> None:
    told = folders(part("resnet", "CSV", 10, 400), part("vit", "CSV", 410, 900, number=2))
    assert len(set(told.values())) == 2


def test_another_program_that_tells_the_same_digit_for_digit_is_of_the_run() -> None:
    told = folders(
        part("tb/version_0", "events", 10, 400),
        part("tb/version_1", "events", 410, 900),
        part("csv/version_0", "CSV", 10, 400),
        part("csv/version_1", "CSV", 410, 900),
        part("other", "CSV", 10, 900, number=2),
    )
    assert told.pop("other") == "other"
    assert set(told.values()) == {"tb/version_0"}


def test_stamped_folders_of_two_months_may_be_one_run() -> None:
    told = folders(
        part("runs/Nov30_23-50-12_host", "tb", 10, 400), part("runs/Dec01_01-02-03_host", "tb", 310, 900)
    )
    assert len(set(told.values())) == 1


def test_a_newer_run_takes_the_place_of_all_folders_of_the_older() -> None:
    older = [part("v0", "CSV", 10, 400), part("v1", "CSV", 410, 900)]
    other = part("v2", "CSV", 10, 900, number=2)
    newer = LogFile(other.log, Entry(other.entry.path, other.entry.file, 1, 9.0))
    unread: list[Unread] = []
    assert names([list(of_one_run([*older, newer], unread))]) == [["v2/log"]]
    assert [one.file for one in unread] == ["v0", "v1"]
