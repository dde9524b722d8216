"""Trackers get what Guard observes; a tracker that fails is left alone."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from stethoscope.errors import StethoscopeError
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.record import forwarding
from stethoscope.guard.record.forwarding import Forwarder, Sink, forwarder
from stethoscope.guard.record.recorder import Recorder
from stethoscope.read import read
from stethoscope.run import Run

SEEN = Happening(Kind.NON_FINITE_LOSS, 7, Severity.WARNING, "The loss is NaN.", "It is.", "this")


def windows(steps: int = 48) -> list[list[Observation]]:
    return [[observed(step) for step in range(first, first + 16)] for first in range(0, steps, 16)]


def observed(step: int) -> Observation:
    values = {
        "loss": math.nan if step == 7 else 2.0 / (1 + step),
        "loss/l1 #1": 1.0,
        "grad_norm": math.inf if step == 9 else 1.0,
        "update_ratio": math.nan if step % 10 else 0.5,
    }
    return Observation(step, 1.78e9 + step, values)


def forwarded(name: str, home: Path) -> Run:
    sent = forwarder(name, home)
    for some in windows():
        sent.rows(some)
    sent.happened(SEEN)
    sent.close()
    assert sent.disabled == "closed"
    return read(home)


def assert_as_observed(run: Run) -> None:
    loss = run.series["loss"]
    assert loss.steps.tolist() == list(range(48))
    assert math.isnan(loss.values[7])
    assert loss.values[1] == 1.0
    assert run.series["grad_norm"].values[9] == math.inf
    assert run.series["update_ratio"].steps.tolist() == [0, 10, 20, 30, 40]
    assert len(run.series["loss/l1_1"]) == 48


def test_tensorboard_shows_what_was_observed(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run = forwarded("tensorboard", tmp_path)
    assert_as_observed(run)
    assert run.logs[0].format == "TensorBoard event file"
    (path,) = (tmp_path / "tensorboard").iterdir()
    assert b"The loss is NaN. It is. Try first: this" in path.read_bytes()


def test_the_record_and_what_tensorboard_was_given_are_one_run(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    recorder, sent = Recorder(tmp_path), forwarder("tensorboard", tmp_path)
    for some in windows(480):
        recorder.rows(some)
        sent.rows(some)
    recorder.close()
    sent.close()
    run = read(tmp_path)
    assert {log.format for log in run.logs} >= {"flight record", "TensorBoard event file"}
    assert len(run.series["loss"]) == 480
    assert len(run.segments) == 1
    assert run.unread == ()


def test_wandb_shows_what_was_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    assert_as_observed(forwarded("wandb", tmp_path))
    assert wandb.run is None


def test_a_run_of_wandb_that_is_under_way_is_used_and_left_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path))
    sent = forwarder("wandb", tmp_path)
    sent.rows(windows()[0])
    sent.happened(SEEN)
    sent.close()
    assert sent.disabled == "closed"
    assert wandb.run is run
    assert run.summary["guard/global_step"] == 15
    assert run.summary["guard/non-finite-loss"].startswith("step 7: The loss is NaN.")
    run.finish()


# MLflow's own use of its database is warned of by that.
@pytest.mark.filterwarnings("ignore")
def test_mlflow_shows_what_was_observed(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    assert_as_observed(forwarded("mlflow", tmp_path))


@pytest.mark.filterwarnings("ignore")
def test_a_run_of_mlflow_that_is_under_way_is_used_and_left_open(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/own.db")
    try:
        with mlflow.start_run() as run:
            sent = forwarder("mlflow", tmp_path)
            sent.rows(windows()[0])
            sent.happened(SEEN)
            sent.close()
            assert sent.disabled == "closed"
            assert mlflow.active_run() is not None
        kept = mlflow.get_run(run.info.run_id).data
    finally:
        mlflow.set_tracking_uri(before)
    assert kept.metrics["guard/grad_norm"] == 1.0
    assert kept.tags["guard.non-finite-loss"].startswith("step 7: The loss is NaN.")


# --- what goes wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_is_told_with_the_line_that_installs_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [known for known in sys.modules if known.split(".")[0] == name] + [name]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(StethoscopeError, match=f"`pip install {name}`"):
        forwarder(name, tmp_path)


def test_a_tracker_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'neptune'; there are: tensorboard, wandb, mlflow\."):
        forwarder("neptune", tmp_path)


def test_a_tracker_that_cannot_be_opened_is_told_of_once(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "file").touch()
    said: list[str] = []
    sent = forwarder("tensorboard", tmp_path / "file", said.append)
    for some in windows():
        sent.rows(some)
    sent.close()
    assert len(said) == 1
    assert "is not handed on to tensorboard any more (NotADirectoryError" in said[0]


def nothing(_: object = None) -> None:
    """Take anything."""


def test_a_tracker_that_fails_is_told_of_once_and_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    tried: list[int] = []

    def fail(observations: Sequence[Observation]) -> None:
        tried.append(observations[0].step)
        raise ConnectionError("no network")

    sent = Forwarder("wandb", Sink(fail, nothing, nothing))
    with caplog.at_level(logging.WARNING, "stethoscope.guard"):
        for some in windows():
            sent.rows(some)
        sent.close()
    assert tried == [0]
    assert sent.disabled == "ConnectionError: no network"
    assert len(caplog.records) == 1


def test_a_slow_tracker_never_holds_the_training_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MOST_WAITING", 2)
    gate, said = threading.Event(), list[str]()
    taken: list[int] = []

    def slow(observations: Sequence[Observation]) -> None:
        gate.wait(10)
        taken.append(observations[0].step)

    sent = Forwarder("mlflow", Sink(slow, nothing, nothing), said.append)
    for some in windows(320):
        sent.rows(some)
    assert len(said) == 1
    assert "mlflow is slower than the training" in said[0]
    gate.set()
    sent.close()
    assert 2 <= len(taken) <= 4


def test_a_process_that_was_forked_hands_nothing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[object] = []
    sent = Forwarder("wandb", Sink(taken.append, taken.append, nothing))
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    sent.rows(windows()[0])
    sent.close()
    monkeypatch.undo()
    sent.happened(SEEN)
    sent.close()
    assert taken == [SEEN]
