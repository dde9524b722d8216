"""Make the run of a specimen in processes of its own, and judge what it leaves."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import runpy
import shutil
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from stethoscope.clinic.faultbench.label import Label, label_of, read_label, written
from stethoscope.clinic.faultbench.specimen import DATA, Prepared, Specimen, prepared
from stethoscope.clinic.faultbench.task import Disturb, Interrupt, Task, tasks
from stethoscope.clinic.instructions import instructions
from stethoscope.errors import StethoscopeError
from stethoscope.read import read

LABELS = "labels"
CONSOLE = "console.log"
TIMED_OUT = "timed out"
PATIENCE = 120.0  # seconds of computing for one process of a run; each takes 1 to 10
STALLED = 90.0  # seconds in which next to nothing is computed
IDLE = 0.02  # of these, what a process computes that only waits for another one
LOOK_SECONDS = 0.2
PRELOADED = [
    *("torch", "numpy", "yaml", "torch.utils.data", "torch.utils.tensorboard"),
    "torch._dynamo",  # the first optimizer imports it, which takes longer than many a run trains
    *(__name__, f"{__package__}.disturbances"),
]


def context() -> ForkServerContext:
    """Processes that begin with torch imported already: most of what a short run takes."""
    os.environ.update(instructions())  # before the server that all of them are copies of
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(PRELOADED)
    return made


def make(specimen: Specimen, folder: Path) -> Label:
    """Make a run below `folder`, unless it is there, and give its label."""
    folder = folder.resolve()  # the processes of the run change to folders of their own
    file = folder / LABELS / f"{specimen.name}.json"
    if file.exists():
        return read_label(file)
    home = folder / specimen.name
    shutil.rmtree(home, ignore_errors=True)
    ready = prepared(specimen, home)
    begun = time.monotonic()
    ended = _run(specimen, ready, home)
    label = label_of(specimen, ready, ended, time.monotonic() - begun)
    label = replace(
        _judged(label, specimen.task, home), logged=logged_score(specimen.task, home / specimen.task.run)
    )
    shutil.rmtree(home / DATA, ignore_errors=True)
    _without_folder(home)
    for cache in home.rglob("__pycache__"):
        shutil.rmtree(cache, ignore_errors=True)
    written(label, file)
    return label


def _without_folder(home: Path) -> None:
    """Let warnings in the console name files of the project, not the folder that this bench is made in."""
    console = home / CONSOLE
    if console.exists():
        said = console.read_bytes()
        console.write_bytes(said.replace(f"{home}/".encode(), b""))


def _run(specimen: Specimen, ready: Prepared, home: Path) -> str:
    """Run the program, again where it is interrupted; gives how it ended."""
    changes = [change for one in specimen.planted for change in one.changes]
    disturbs = [(one.name, round(one.at * ready.steps)) for one in changes if isinstance(one, Disturb)]
    stops = [one for one in changes if isinstance(one, Interrupt)]
    arguments = [*specimen.task.arguments, "--seed", str(specimen.seed)]
    for stop in stops:
        _started(specimen.task, arguments, home, disturbs, round(stop.at * ready.steps))
        arguments += stop.arguments
    return _started(specimen.task, arguments, home, disturbs, None)


def _started(
    task: Task, arguments: Sequence[str], home: Path, disturbs: Sequence[tuple[str, int]], kill: int | None
) -> str:
    made, port = context(), _free_port()
    given = (task.script, tuple(arguments), home, disturbs, kill)
    ranks = range(task.processes)
    every = [made.Process(target=_program, args=(*given, rank, task.processes, port)) for rank in ranks]
    for process in every:
        process.start()
    if not _ended(every):
        for process in every:
            process.kill()
        return TIMED_OUT
    codes = {process.exitcode for process in every}
    return "finished" if codes == {0} else f"exit status {max(codes, key=lambda code: abs(code or 0))}"


def _ended(every: Sequence[BaseProcess]) -> bool:
    """Wait for all processes; whether they ended, rather than computing for ever or not at all.

    What they compute is counted, and not the time that passes: a busy machine makes no run look ill.
    """
    computed, begun = 0.0, time.monotonic()
    since = begun
    while going := [process for process in every if process.is_alive()]:
        going[0].join(LOOK_SECONDS)
        now = sum(_computed(process, begun) for process in going)
        if abs(now - computed) > IDLE * STALLED:
            computed, since = now, time.monotonic()
        if now > PATIENCE * len(going) or time.monotonic() - since > STALLED:
            return False
    return True


def _computed(process: BaseProcess, begun: float) -> float:
    """The seconds that a process has computed; where the system does not tell, those that have passed."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic() - begun
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _program(
    script: str,
    arguments: Sequence[str],
    home: Path,
    disturbs: Sequence[tuple[str, int]],
    kill: int | None,
    rank: int,
    world: int,
    port: int,
) -> None:
    """Be the program: the script of the task, in its own folder, with its own words."""
    _one_thread()
    # Only the processes that train import torch.
    disturbances: Any = import_module(f"{__package__}.disturbances")
    os.chdir(home)
    sys.path.insert(0, str(home))
    sys.argv = [script, *arguments]
    if world > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    for name, at in disturbs:
        disturbances.disturb(name, at)
    if kill is not None:
        disturbances.kill(kill)
    with open(CONSOLE, "a", encoding="utf-8", buffering=1) as console:
        os.dup2(console.fileno(), 1)
        os.dup2(console.fileno(), 2)
        with contextlib.redirect_stdout(console), contextlib.redirect_stderr(console):
            try:
                runpy.run_path(script, run_name="__main__")
            except Exception:
                traceback.print_exc()
                raise SystemExit(1) from None


def _one_thread() -> None:
    torch: Any = import_module("torch")
    torch.set_num_threads(1)


def _judged(label: Label, task: Task, home: Path) -> Label:
    """The label with the scores of every checkpoint, measured from an untouched copy of the project."""
    made = context()
    ours, theirs = made.Pipe(duplex=False)
    process = made.Process(target=_judge, args=(task.name, home, theirs))
    process.start()
    theirs.close()
    scores: dict[str, float | None] = {}
    with contextlib.suppress(EOFError):
        scores = ours.recv()
    process.join()
    return replace(label, checkpoints=scores, score=next(reversed(scores.values()), None))


def logged_score(task: Task, run: Path) -> float | None:
    """The last value of the task's metric that the run logged of its validation."""
    try:
        series = read(run).series
    except StethoscopeError:
        return None
    named = [name for name in series if name.lower().endswith((task.logs or task.metric.name).lower())]
    chosen = next((name for name in named if "val" in name.lower()), next(iter(named), None))
    values = [float(value) for value in series[chosen].values] if chosen else []
    return values[-1] if values and math.isfinite(values[-1]) else None


def _judge(name: str, home: Path, out: Any) -> None:
    _one_thread()
    task = tasks()[name]
    os.chdir(task.project)
    sys.path.insert(0, str(task.project))
    sys.dont_write_bytecode = True
    scores: dict[str, float | None] = {}
    for file in sorted((home / task.run).glob(task.checkpoints)):
        try:
            score = task.judge(file)
        except Exception:
            traceback.print_exc()
            score = math.nan
        scores[str(file.relative_to(home / task.run))] = score if math.isfinite(score) else task.metric.bar
    out.send(scores)


_GIVEN: set[int] = set()  # a port is free until its run listens there: no second run may be told of it
_GIVING = threading.Lock()


def _free_port() -> int:
    with _GIVING:
        while True:
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                port: int = found.getsockname()[1]
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port
