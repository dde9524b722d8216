"""One run of a trial, from a fresh copy of the project to its score."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stethoscope.errors import StethoscopeError
from stethoscope.trials import supervisor
from stethoscope.trials.projects import copy_snapshot
from stethoscope.trials.scoring import (
    Told,
    curve,
    fingerprint,
    first_value,
    is_hopeless,
    printed_score,
    score,
    thinned,
    told_by,
)
from stethoscope.trials.trial import Ending, Metric, Outcome

RUN_FOLDER = "trial-run"  # what `{run}` stands for
OUTPUT = "output.log"
LAST_LINES = 20
LONGEST_LINE = 500  # characters of a line that is kept
LOOK_SECONDS = 15.0  # between two looks at the logs of a run that goes on
FULL_DISK = 64 << 10  # bytes left: less than a log needs
WAIT_SECONDS = 0.03
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that one run needs, wherever it is made."""

    arm: str
    seed: int
    key: str
    command: tuple[str, ...]
    metric: Metric
    changed: Mapping[str, bytes | None]  # files of the arm that are not as in the snapshot
    variables: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    evaluate: tuple[str, ...] = ()
    frozen: Mapping[str, bytes | None] = field(default_factory=dict)  # the same for the evaluator's copy
    frozen_variables: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)  # what stands for `{seed}` and the like
    threads: int = 1
    seconds: float | None = None
    memory_bytes: int | None = None
    keep: bool = False  # the copy is not removed


def perform(job: Job, snapshot: Path, work: Path, stop: threading.Event) -> Outcome:
    """Make one run in a copy of its own below `work`; whatever happens to it, there is an outcome."""
    home = work / job.key[:16]
    try:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        copy_snapshot(snapshot, home / "project", job.changed)
        return _run(job, snapshot, home, stop)
    except OSError as problem:  # shutil.Error is one, without a number
        why = f"{(problem.strerror or str(problem)[:LONGEST_LINE]).lower()}: {problem.filename or home}"
        return Outcome(job.arm, job.seed, Ending.NOT_RUN, why=why, key=job.key)
    finally:
        if not job.keep:
            shutil.rmtree(home, ignore_errors=True)


def _run(job: Job, snapshot: Path, home: Path, stop: threading.Event) -> Outcome:
    project, output = home / "project", home / OUTPUT
    before = _files_in(project)
    run = _run_folder(job, project)
    words = {**job.words, "run": str(run)}
    deadline = time.monotonic() + job.seconds if job.seconds is not None else None
    watch = _Watch(job, home, before)
    own = environment(job, project, job.variables)
    told = _supervised(_filled(job.command, words), project, output, own, job, deadline, stop, watch)
    left = _told(home, _left_by_run(project, before, job, run), job.metric)
    outcome = _outcome(job, told, left, output, watch.hopeless)
    if job.evaluate and outcome.ending in (Ending.SCORED, Ending.UNREADABLE):
        return _evaluated(job, outcome, snapshot, home, words, deadline, stop)
    return outcome


def _run_folder(job: Job, project: Path) -> Path:
    if any("{run}" in word for word in job.command):
        run = project / RUN_FOLDER
        run.mkdir()
        return run
    return project / job.run if job.run else project


def _filled(command: tuple[str, ...], words: Mapping[str, str]) -> list[str]:
    filled = list(command)
    for name, value in words.items():
        filled = [word.replace("{" + name + "}", value) for word in filled]
    return filled


# --- the process --------------------------------------------------------------------------------------


class _Watch:
    """Looks at the logs of a run now and then, and says when it is hopeless."""

    def __init__(self, job: Job, home: Path, before: Mapping[str, tuple[int, int]]) -> None:
        self.job, self.home, self.before = job, home, before
        self.hopeless = ""
        self.next_look = time.monotonic() + LOOK_SECONDS

    def look(self) -> str:
        """Why the run is hopeless, or nothing."""
        if time.monotonic() < self.next_look:
            return ""
        began = time.monotonic()
        project = self.home / "project"
        run = project / RUN_FOLDER if (project / RUN_FOLDER).is_dir() else project / self.job.run
        files = _left_by_run(project, self.before, self.job, run)
        try:
            self.hopeless = is_hopeless(_told(self.home, files, self.job.metric), self.job.metric)
        except (StethoscopeError, OSError):
            return ""  # a file that is being written
        # Reading long logs again and again must not slow down what writes them.
        self.next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.monotonic() - began))
        return self.hopeless


def _supervised(
    command: list[str],
    folder: Path,
    output: Path,
    variables: Mapping[str, str],
    job: Job,
    deadline: float | None,
    stop: threading.Event,
    watch: _Watch | None = None,
) -> dict[str, Any]:
    """What the supervisor says about the command; it is told to end it when `stop` is set."""
    seconds = max(deadline - time.monotonic(), 0.0) if deadline is not None else None
    asked = {
        "command": command,
        "folder": str(folder),
        "environment": variables,
        "output": str(output),
        "seconds": seconds,
        "memory": job.memory_bytes,
    }
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(supervisor.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        while process.poll() is None:
            if stop.wait(WAIT_SECONDS) or (watch is not None and watch.look()):
                process.stdin.close()
                break
        said = process.stdout.read()
    if not said:
        return {
            "why": supervisor.CANCELLED,
            "status": None,
            "said": "its supervisor was killed",
            "seconds": 0.0,
        }
    told: dict[str, Any] = json.loads(said)
    return told


def environment(job: Job, folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a run: threads divided, and this copy's source before any that is installed."""
    own = [str(folder / "src")] if (folder / "src").is_dir() else []
    path = os.pathsep.join([*own, str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {
        "PATH": search_path(),
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": str(job.seed % 2**32),
        **dict.fromkeys(THREAD_VARIABLES, str(job.threads)),
    }
    return {**os.environ, **given, **variables}


def search_path() -> str:
    """Where commands are looked for: `python` is the one of Stethoscope where there is no other."""
    return os.pathsep.join(filter(None, (os.environ.get("PATH"), str(Path(sys.executable).parent))))


# --- what it left -------------------------------------------------------------------------------------


def _files_in(project: Path) -> dict[str, tuple[int, int]]:
    """Every file of a folder with its size and time; links are not followed."""
    found = {}
    for here, _, names in os.walk(project):
        for name in names:
            path = os.path.join(here, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found[os.path.relpath(path, project)] = status.st_size, status.st_mtime_ns
    return found


def _left_by_run(project: Path, before: Mapping[str, tuple[int, int]], job: Job, run: Path) -> list[Path]:
    """The files that a run made or changed, in its own folder where it has one."""
    own = run != project
    found = []
    for name, state in _files_in(project).items():
        path = project / name
        if before.get(name) != state and (not own or path.is_relative_to(run)) and not path.is_symlink():
            found.append(path)
    return found


def _told(home: Path, files: list[Path], metric: Metric) -> Told:
    """What the run's own logs say, else what it printed: a print is often a rounded copy of a log."""
    own = told_by(home, files)
    return own if curve(own, metric.name) is not None else told_by(home, [*files, home / OUTPUT])


def _outcome(job: Job, told: Mapping[str, Any], left: Told, output: Path, hopeless: str) -> Outcome:
    ending, why = _ending(told, left, hopeless)
    series = curve(left, job.metric.name)
    value = score(series, job.metric) if series is not None else None
    if ending is Ending.SCORED and value is None:
        ending, why = Ending.UNREADABLE, f"{job.metric.name} is not in what the run left"
    elif ending is Ending.SCORED and value is not None and not math.isfinite(value):
        ending, why = Ending.DIVERGED, f"{job.metric.name} is not finite at the end"
    scored = ending is Ending.SCORED
    if not scored and shutil.disk_usage(output.parent).free < FULL_DISK:
        ending, why = Ending.NOT_RUN, f"{why}; the disk is full"
    return Outcome(
        job.arm,
        job.seed,
        ending,
        score=value if scored else None,
        own=value if scored else None,
        seconds=round(float(told.get("seconds") or 0.0), 3),
        steps=left.steps,
        first=first_value(series) if series is not None else None,
        curve=thinned(series) if series is not None else (),
        why=why,
        tail=() if scored else _last_lines(output),
        names=left.names if ending is Ending.UNREADABLE else (),
        fingerprint=fingerprint(left),
        key=job.key,
    )


def _ending(told: Mapping[str, Any], left: Told, hopeless: str) -> tuple[Ending, str]:
    why, status = told["why"], told.get("status")
    if hopeless:
        return Ending.DIVERGED, f"stopped early: {hopeless}"
    if why == supervisor.COULD_NOT_START:
        return Ending.BROKEN, f"the command could not be started: {told['said']}"
    if why == supervisor.TIMED_OUT:
        return Ending.TIMED_OUT, f"not done after {told['seconds']:.0f} s"
    if why == supervisor.OVER_MEMORY:
        return Ending.OVER_MEMORY, f"used {told['peak'] / 2**30:.1f} GB"
    if why == supervisor.OVER_OUTPUT:
        return Ending.BROKEN, f"printed more than {supervisor.MOST_OUTPUT >> 20} MB"
    if why == supervisor.CANCELLED:
        return Ending.NOT_RUN, "stopped before its end"
    if status is not None and status < 0:
        return Ending.KILLED, f"ended by signal {-status}"
    if status:
        trained = bool(left.names)
        return (Ending.CRASHED if trained else Ending.BROKEN), f"exit status {status}"
    return Ending.SCORED, ""


def _last_lines(output: Path) -> tuple[str, ...]:
    try:
        with output.open("rb") as stream:
            stream.seek(max(0, output.stat().st_size - LAST_LINES * LONGEST_LINE))
            text = stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(line[:LONGEST_LINE] for line in text.splitlines()[-LAST_LINES:])


def _evaluated(
    job: Job,
    outcome: Outcome,
    snapshot: Path,
    home: Path,
    words: Mapping[str, str],
    deadline: float | None,
    stop: threading.Event,
) -> Outcome:
    """The outcome with the score that the frozen evaluator gives to what the run left."""
    frozen, output = home / "frozen", home / "evaluation.log"
    copy_snapshot(snapshot, frozen, job.frozen)
    own = environment(job, frozen, job.frozen_variables)
    told = _supervised(_filled(job.evaluate, words), frozen, output, own, job, deadline, stop)
    ending, why = _ending(told, Told({}), "")
    changed: dict[str, Any] = {"score": None, "tail": _last_lines(output)}
    if ending is not Ending.SCORED:
        ending = Ending.BROKEN if ending is Ending.CRASHED else ending
        return replace(outcome, ending=ending, why=f"the evaluator: {why}", **changed)
    text = output.read_text(encoding="utf-8", errors="replace")
    value = printed_score(text, job.metric, home, output)
    if value is None:
        said = f"the evaluator did not print {job.metric.name}"
        return replace(outcome, ending=Ending.UNREADABLE, why=said, **changed)
    if not math.isfinite(value):
        return replace(outcome, ending=Ending.DIVERGED, why="the evaluator's score is not finite", score=None)
    return replace(outcome, ending=Ending.SCORED, why="", score=value, tail=(), names=())
