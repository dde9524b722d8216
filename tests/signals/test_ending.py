"""Why a run ended: always answered, by the first cause and not by its consequences."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from stethoscope.run import Event, EventKind, Log, Recipe, Run, Series, Setting, Where
from stethoscope.signals.ending import _measured, measure

NOW = 1_700_000_000.0


def series(steps: list[int], name: str = "loss", values: list[float] | None = None) -> Series:
    return Series(name, name, np.array(steps), np.array(values or [0.5] * len(steps)), "train.log")


def event(kind: EventKind, line: int = 10, step: int | None = 300, message: str = "") -> Event:
    return Event(kind, message or str(kind), "train.log", line, step)


def run(*events: Event, steps: list[int] | None = None, **about: object) -> Run:
    told = series(steps or [100, 200, 300])
    log = Log("train.log", "text", (told,), events, **about)  # type: ignore[arg-type]
    return Run("runs/a", "a", (log,), {"loss": told})


def ended(a_run: Run) -> str:
    return _measured(a_run, NOW).how


@pytest.mark.parametrize(
    "kind",
    [
        EventKind.OUT_OF_MEMORY,
        EventKind.KILLED,
        EventKind.COLLECTIVE_TIMEOUT,
        EventKind.DATA_WORKER_DIED,
        EventKind.DISK_FULL,
        EventKind.TRACEBACK,
        EventKind.STOPPED_BY_USER,
        EventKind.STOPPED_BY_GUARD,
        EventKind.FINISHED,
    ],
)
def test_the_line_that_says_it_is_named(kind: EventKind) -> None:
    ending = _measured(run(event(kind, message="as printed")), NOW)
    assert (ending.how, ending.why, ending.where) == (str(kind), "as printed", Where("train.log", line=10))


def test_the_cause_outranks_the_traceback_around_it() -> None:
    assert ended(run(event(EventKind.TRACEBACK, 10), event(EventKind.OUT_OF_MEMORY, 40))) == "out of memory"


def test_the_first_of_two_causes_wins() -> None:
    both = (
        event(EventKind.OUT_OF_MEMORY, 10),
        event(EventKind.COLLECTIVE_TIMEOUT, 60),
        event(EventKind.KILLED, 70),
    )
    assert ended(run(*both)) == "out of memory"


def test_being_killed_after_a_traceback_is_a_consequence() -> None:
    assert ended(run(event(EventKind.TRACEBACK, 10), event(EventKind.KILLED, 30))) == "traceback"


def test_a_traceback_that_training_survived_is_not_the_end() -> None:
    survived = event(EventKind.TRACEBACK, 10, step=200)
    assert ended(run(survived, steps=[100, 200, 300])) == "unknown"
    assert ended(run(survived, event(EventKind.FINISHED, 90))) == "finished"


def test_a_crash_before_a_resume_is_not_the_end() -> None:
    crashed = event(EventKind.OUT_OF_MEMORY, 10, step=300)
    resumed = event(EventKind.RESUMED, 20, step=300)
    assert ended(run(crashed, resumed, event(EventKind.FINISHED, 30))) == "finished"
    assert ended(run(crashed, resumed)) == "unknown"


def test_a_crash_in_an_earlier_log_is_not_the_end() -> None:
    first = Log(
        "a.log",
        "text",
        (series([100, 200]),),
        (Event(EventKind.KILLED, "Killed", "a.log", 9, 200),),
        started=1.0,
    )
    told = series([300, 400])
    second = Log("b.log", "text", (told,), (Event(EventKind.FINISHED, "done", "b.log", 9, 400),), started=2.0)
    both = Run("runs/a", "a", (first, second), {"loss": series([100, 200, 300, 400])})
    assert ended(both) == "finished"


def test_a_crash_told_in_another_file_counts() -> None:
    told = series([100, 200, 300])
    log = Log("metrics.csv", "CSV table", (told,))
    errors = Log("err.txt", "text", (), (Event(EventKind.OUT_OF_MEMORY, "CUDA out of memory", "err.txt", 3),))
    assert ended(Run("runs/a", "a", (log, errors), {"loss": told})) == "out of memory"


def test_the_last_step_of_the_plan_is_the_end() -> None:
    assert ended(run(total_steps=300)) == "finished"
    assert ended(run(total_steps=400)) == "finished", "the next line would have been the last"
    ending = _measured(run(total_steps=40_000), NOW)
    assert (ending.how, ending.why) == ("unknown", "the log stops at step 300 of 40,000 without a word")


@pytest.mark.parametrize(
    ("key", "value", "how"),
    [
        ("total_iter", 300, "finished"),
        ("max_steps", -1, "unknown"),
        ("MAX_ITER", 300, "finished"),
        ("steps", 300, "finished"),
        ("steps", 400, "unknown"),
        ("warmup_steps", 300, "unknown"),
    ],
)
def test_the_settings_say_how_long_a_run_is(key: str, value: object, how: str) -> None:
    told = series([100, 200, 300])
    recipe = Recipe((Setting(("train", key), value, Where("a.yml", line=3)),))
    assert ended(Run("a", "a", (Log("train.log", "text", (told,)),), {"loss": told}, recipe=recipe)) == how


@pytest.mark.parametrize(
    ("epochs", "how"),
    [([0.0, 1.0, 2.0], "finished"), ([1.0, 2.0, 3.0], "finished"), ([0.0, 0.5, 1.0], "unknown")],
)
def test_epochs_are_counted_where_steps_are_not_planned(epochs: list[float], how: str) -> None:
    told = series([100, 200, 300], "epoch", epochs)
    recipe = Recipe((Setting(("num_epochs",), 3, Where("a.yml", line=3)),))
    assert ended(Run("a", "a", (Log("train.log", "text", (told,)),), {"epoch": told}, recipe=recipe)) == how


def test_a_log_counted_in_epochs_ends_with_the_last_of_them() -> None:
    told = replace(series([1, 2, 3], "val/loss"), axis="epoch")
    recipe = Recipe((Setting(("epochs",), 3, Where("a.yml", line=3)),))
    logs = (Log("train.log", "text", (told,)),)
    assert ended(Run("a", "a", logs, {"val/loss": told}, recipe=recipe)) == "finished"


def test_a_log_written_just_now_is_still_running() -> None:
    assert ended(run(last_written=NOW - 60)) == "still running"
    assert ended(run(last_written=NOW - 3600)) == "unknown"
    assert ended(run(event(EventKind.FINISHED), last_written=NOW - 60)) == "finished"


def test_there_is_an_answer_without_any_log() -> None:
    assert measure(Run("runs/a", "a")).how == "unknown"
    assert measure(run(last_written=time.time())).how == "still running"


def test_a_crash_is_not_the_end_where_later_lines_hold_steps() -> None:
    told = Series("loss", "loss", np.array([10, 20, 30]), np.array([0.5] * 3), "train.log", lines=(8, 40))
    log = Log("train.log", "text", (told,), (event(EventKind.OUT_OF_MEMORY, 3, step=None),))
    assert ended(Run("runs/a", "a", (log,), {"loss": told})) == "unknown"


def test_a_line_that_says_how_the_program_goes_on_is_not_the_end() -> None:
    said = event(EventKind.OUT_OF_MEMORY, message="ran out of memory, skipping batch")
    assert ended(run(said)) == "unknown"
    advice = event(EventKind.OUT_OF_MEMORY, message="CUDA out of memory, try reducing the batch size")
    assert ended(run(advice)) == "out of memory"


def test_a_scheduler_that_says_why_is_believed() -> None:
    died = event(EventKind.DATA_WORKER_DIED, 10)
    stopped = event(EventKind.KILLED, 12, message="JOB 1 CANCELLED AT 12:00 DUE TO TIME LIMIT")
    assert ended(run(died, stopped)) == "killed"


def test_the_launcher_s_own_exception_says_nothing() -> None:
    launcher = event(EventKind.TRACEBACK, 12, message="elastic.errors.ChildFailedError:")
    assert ended(run(event(EventKind.KILLED, 10, message="(exitcode: -9)"), launcher)) == "killed"
    assert ended(run(launcher)) == "traceback"


def test_a_peer_that_is_gone_has_its_own_reason() -> None:
    gone = event(EventKind.COLLECTIVE_TIMEOUT, 10, message="gloo: Connection closed by peer")
    assert ended(run(gone, event(EventKind.TRACEBACK, 14, message="KeyError: 'mask'"))) == "traceback"
    assert ended(run(gone)) == "collective timeout"


def test_the_output_of_an_earlier_job_is_history() -> None:
    killed = Log(
        "slurm-1200.out", "console output", (), (Event(EventKind.KILLED, "Killed", "slurm-1200.out", 9),)
    )
    told = series([100, 200])
    later = Log("slurm-1340.out", "text", (told,))
    assert ended(Run("runs/a", "a", (killed, later), {"loss": told})) == "unknown"
