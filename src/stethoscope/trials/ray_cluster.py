"""Runs as tasks of a Ray cluster: the same work, the same results, on more machines.

Every node needs Stethoscope, and what the command needs. The copy of the project travels to the nodes; data
that is linked has to be where it is here, as on a shared disk. Where the cluster has GPUs, each run has one.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from stethoscope.errors import MissingExtra, StethoscopeError
from stethoscope.trials.projects import Snapshot
from stethoscope.trials.running import Job, perform
from stethoscope.trials.trial import Ending, Outcome

AUTO = "auto"
INSTALL = "--ray needs Ray, which is not installed: pip install 'stethoscope[ray]'."
STOP_SECONDS = 15.0  # for the nodes to end what runs there, before their tasks are ended


class RayCluster:
    """The cluster at an address, as `ray.init` takes it: "auto", "host:port" or "ray://host:port"."""

    def __init__(self, address: str, threads: int = 1, slots: int | None = None) -> None:
        self._ray = connected(address)
        self._threads = threads
        self._slots = slots
        # Ray hides the GPUs of a node from a task that asks for none.
        self._gpus = 1 if self._ray.cluster_resources().get("GPU", 0) >= 1 else 0
        self._task = self._ray.remote(num_cpus=threads, num_gpus=self._gpus, max_retries=0)(_performed)
        self._project: Any = None
        self._running: dict[Any, Job] = {}

    @property
    def slots(self) -> int:
        """As many runs as the cluster has cores for, and GPUs where it has any; fewer where asked for."""
        there = self._ray.cluster_resources()
        most = int(there.get("CPU", 1)) // self._threads
        most = min(most, int(there["GPU"])) if self._gpus else most
        return max(1, min(most, self._slots or most))

    def prepare(self, snapshot: Snapshot) -> None:
        """Put the project where every node can get it."""
        self._project = self._ray.put(packed(snapshot.folder))

    def start(self, job: Job) -> None:
        """Begin a run on some node."""
        self._running[self._task.remote(job, self._project)] = job

    def wait(self, seconds: float) -> list[Outcome]:
        """What was done since the last call; a node that is lost gives an outcome, too."""
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return [self._outcome(task) for task in ready]

    def stop(self) -> None:
        """End whatever still runs; the cluster itself stays."""
        for task in self._running:
            self._ray.cancel(task, force=False)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running), timeout=STOP_SECONDS)
        self._running.clear()

    def _outcome(self, task: Any) -> Outcome:
        job = self._running.pop(task)
        try:
            outcome: Outcome = self._ray.get(task)
        except Exception as problem:
            said = str(problem).strip().splitlines()
            why = f"its node gave no answer: {said[-1] if said else type(problem).__name__}"
            return Outcome(job.arm, job.seed, Ending.NOT_RUN, why=why, key=job.key)
        return outcome


def connected(address: str) -> Any:
    """Ray itself, with the cluster at this address."""
    ray = _ray()
    try:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as problem:
        raise StethoscopeError(f"--ray {address}: no cluster answers there: {problem}") from problem
    return ray


def packed(folder: Path) -> bytes:
    """A folder as one piece, links as links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def _performed(job: Job, project: bytes) -> Outcome:
    """One run on a node, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="stethoscope-trial-") as folder:
        snapshot, work = Path(folder) / "snapshot", Path(folder) / "work"
        with tarfile.open(fileobj=io.BytesIO(project)) as archive:
            # The archive is our own, and links in it may lead to data outside.
            archive.extractall(snapshot, filter="fully_trusted")
        return perform(job, snapshot, work, threading.Event())


def _ray() -> Any:
    try:
        return import_module("ray")
    except ImportError:
        raise MissingExtra(INSTALL) from None
