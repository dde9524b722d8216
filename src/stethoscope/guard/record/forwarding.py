"""Hands what Guard observes on to a tracker: TensorBoard, W&B or MLflow.

A thread does it, because a tracker may take longer than a step: the training only puts rows into a queue. A
tracker that fails, or that cannot keep up, loses rows and never holds the training up; the flight record has
them all. Where a run of W&B or MLflow is under way it is used, its names behind "guard/", and left open.
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stethoscope.errors import StethoscopeError
from stethoscope.guard.happening import Happening
from stethoscope.guard.observation import SPARSE, Observation

MOST_WAITING = 4_096  # windows and happenings that wait for a slow tracker; beyond them rows are lost
LONGEST_WAIT = 30.0  # seconds that closing waits for what is still to be handed on
LONGEST_TEXT = 4_000  # characters of a message; MLflow refuses longer tags
MOST_AT_ONCE = 1_000  # metrics that MLflow takes in one request
PREFIX = "guard/"
EXPERIMENT = "stethoscope"

_log = logging.getLogger("stethoscope.guard")


def forwarder(name: str, directory: Path | str, tell: Callable[[str], None] | None = None) -> Forwarder:
    """A forwarder to "tensorboard", "wandb" or "mlflow"; files that they need lie below `directory`.

    Raises StethoscopeError, with the line that installs it, where the tracker is not there. A tracker that
    cannot be reached is told of once, and nothing is handed on.
    """
    if name not in _OPENED:
        raise ValueError(f"no tracker is called {name!r}; there are: {', '.join(_OPENED)}.")
    try:
        return Forwarder(name, _OPENED[name](Path(directory)), tell)
    except StethoscopeError:
        raise
    except Exception as problem:  # no network, no key, a folder that cannot be written to
        return Forwarder(name, _refusing(problem), tell)


@dataclass(frozen=True, slots=True)
class Sink:
    """What a tracker takes: rows, a message at a step, and its end."""

    rows: Callable[[Sequence[Observation]], None]
    message: Callable[[Happening], None]
    close: Callable[[], None]


def _refusing(problem: Exception) -> Sink:
    """A tracker that could not be opened."""

    def refuse(_: object = None) -> None:
        raise problem

    return Sink(refuse, refuse, lambda: None)


class Forwarder:
    """Rows and happenings on their way to a tracker. `disabled` says why nothing is handed on any more."""

    def __init__(self, name: str, sink: Sink, tell: Callable[[str], None] | None = None) -> None:
        self.name = name
        self.disabled: str | None = None
        self._sink = sink
        self._tell = tell or _log.warning
        self._owner = os.getpid()
        self._lost = 0
        self._waiting: queue.Queue[Sequence[Observation] | Happening | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._forward, name=f"forward-{name}", daemon=True)
        self._thread.start()
        # Called before what the tracker itself does when the program ends: it was registered earlier.
        atexit.register(self.close)

    def rows(self, observations: Sequence[Observation]) -> None:
        """Hand on some steps."""
        if observations:
            self._put(tuple(observations))

    def happened(self, happening: Happening) -> None:
        """Hand on one thing that happened."""
        self._put(happening)

    def close(self) -> None:
        """Hand on what waits, and end."""
        if self._owner != os.getpid() or not self._thread.is_alive():
            return
        atexit.unregister(self.close)
        try:
            self._waiting.put(None, timeout=LONGEST_WAIT)
        except queue.Full:
            return
        self._thread.join(LONGEST_WAIT)
        self.disabled = self.disabled or "closed"

    def _put(self, thing: Sequence[Observation] | Happening) -> None:
        if self.disabled is not None or self._owner != os.getpid():
            return
        try:
            self._waiting.put_nowait(thing)
        except queue.Full:
            self._lost += 1
            if self._lost == 1:
                self._tell(
                    f"{self.name} is slower than the training: some of what Guard observes is not handed on "
                    "to it. The flight record has it all."
                )

    def _forward(self) -> None:
        """What the thread does, until it is given None."""
        while (thing := self._waiting.get()) is not None:
            if self.disabled is None:
                self._attempt(thing)
        try:
            self._sink.close()
        except Exception as problem:
            self._disable(problem)

    def _attempt(self, thing: Sequence[Observation] | Happening) -> None:
        try:
            if isinstance(thing, Happening):
                self._sink.message(thing)
            else:
                self._sink.rows(thing)
        except Exception as problem:  # whatever a tracker raises, the training goes on
            self._disable(problem)

    def _disable(self, problem: Exception) -> None:
        if self.disabled is None:
            self.disabled = f"{type(problem).__name__}: {problem}"
            self._tell(
                f"What Guard observes is not handed on to {self.name} any more ({self.disabled}). Training "
                "goes on, and so does a flight record that can be written."
            )


# --- TensorBoard ------------------------------------------------------------------------------------


def _tensorboard(directory: Path) -> Sink:
    tensorboard = _imported("torch.utils.tensorboard", "tensorboard")
    proto = _imported("tensorboard.compat.proto.summary_pb2", "tensorboard")
    writer = tensorboard.SummaryWriter(str(directory / "tensorboard"))

    def rows(observations: Sequence[Observation]) -> None:
        for one in observations:
            # One event for all values of a step: a call for each of them takes ten times as long.
            values = [proto.Summary.Value(tag=name, simple_value=value) for name, value in _measured(one)]
            writer.file_writer.add_summary(proto.Summary(value=values), one.step, one.wall)
        writer.flush()

    def message(happening: Happening) -> None:
        writer.add_text(f"{PREFIX}{happening.kind}", happening.text()[:LONGEST_TEXT], happening.step)

    return Sink(rows, message, writer.close)


# --- W&B --------------------------------------------------------------------------------------------


def _wandb(directory: Path) -> Sink:
    wandb = _imported("wandb", "wandb")
    under_way = wandb.run
    directory.mkdir(parents=True, exist_ok=True)
    run = under_way or wandb.init(project=EXPERIMENT, dir=str(directory))
    prefix = PREFIX if under_way else ""
    # A counter of its own: W&B refuses a step that is lower than one it was given by somebody else.
    counter = f"{prefix}global_step"
    run.define_metric(counter)
    run.define_metric(f"{prefix}*", step_metric=counter)

    def rows(observations: Sequence[Observation]) -> None:
        for one in observations:
            run.log({**{f"{prefix}{name}": value for name, value in _measured(one)}, counter: one.step})

    def message(happening: Happening) -> None:
        said = f"step {happening.step}: {happening.text()}"
        run.summary[f"{PREFIX}{happening.kind}"] = said[:LONGEST_TEXT]

    return Sink(rows, message, (lambda: None) if under_way else run.finish)


# --- MLflow -----------------------------------------------------------------------------------------


def _mlflow(directory: Path) -> Sink:
    mlflow = _imported("mlflow", "mlflow")
    entities = _imported("mlflow.entities", "mlflow")
    under_way = mlflow.active_run()
    client = mlflow.MlflowClient(None if under_way or mlflow.is_tracking_uri_set() else _database(directory))
    run = under_way.info.run_id if under_way else _mlflow_run(client)
    prefix = PREFIX if under_way else ""

    def rows(observations: Sequence[Observation]) -> None:
        metrics = [
            entities.Metric(f"{prefix}{_allowed(name)}", value, int(one.wall * 1000), one.step)
            for one in observations
            for name, value in _measured(one)
        ]
        for first in range(0, len(metrics), MOST_AT_ONCE):
            client.log_batch(run, metrics=metrics[first : first + MOST_AT_ONCE])

    def message(happening: Happening) -> None:
        said = f"step {happening.step}: {happening.text()}"
        client.set_tag(run, f"guard.{happening.kind}", said[:LONGEST_TEXT])

    return Sink(rows, message, (lambda: None) if under_way else (lambda: client.set_terminated(run)))


def _database(directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{(directory / 'mlflow.db').absolute()}"


def _mlflow_run(client: Any) -> str:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    number = experiment.experiment_id if experiment else client.create_experiment(EXPERIMENT)
    return str(client.create_run(number).info.run_id)


def _allowed(name: str) -> str:
    """A name as MLflow takes it: letters, digits and a few marks."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "_" for letter in name)


# --- all of them ------------------------------------------------------------------------------------


def _measured(one: Observation) -> list[tuple[str, float]]:
    """The values of a step without those that stand for "not measured"."""
    return [(name, value) for name, value in one.values.items() if name not in SPARSE or value == value]


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise StethoscopeError(
            f"forwarding to {package} needs a package that is not there ({problem}): `pip install {package}`."
        ) from problem


_OPENED: dict[str, Callable[[Path], Sink]] = {
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "mlflow": _mlflow,
}
