"""Ask every peer that is installed about every run, each in its own interpreter.

A peer is installed where `FOLDER/NAME` is a virtual environment that has its package. One that is not there
is left out; one that breaks on a run, or takes too long, has no opinion about it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stethoscope.clinic.faultbench import peer_process
from stethoscope.clinic.faultbench.bench import Told, finished, pool_of, quietly
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.opinion import Opinion, only_logs
from stethoscope.clinic.faultbench.peer import NO_OPINION, NoAnswer, Peer, PeerEntry, peers
from stethoscope.clinic.faultbench.plain_log import Grain, folder_of, write_plain
from stethoscope.clinic.faultbench.task import tasks
from stethoscope.errors import StethoscopeError
from stethoscope.read import read

PATIENCE = 30.0  # seconds for one run; most take a tenth of one


@dataclass(frozen=True, slots=True)
class Asked:
    """What a peer said about each run, from logs of one grain."""

    name: str
    version: str
    grain: Grain
    opinions: dict[str, Opinion]


def missing(folder: Path) -> Iterator[str]:
    """How to install each peer that is not there."""
    for entry in peers():
        home = folder / entry.name
        if not _is_there(folder, entry):
            wanted = f"{entry.peer.package}=={entry.peer.version}"
            yield f"{entry.name} is left out; python -m venv {home} && {home}/bin/pip install {wanted}"


def ask_peers(
    labels: Sequence[Label], runs: Path, folder: Path, jobs: int, told: Told = quietly
) -> list[Asked]:
    """What each of those that are there says about each run, from logs of every grain that it can do with."""
    names = [label.name for label in labels]
    asked = []
    with TemporaryDirectory(prefix="stethoscope-peers-") as scratch:
        _write_all(labels, runs, Path(scratch), jobs, told)
        for entry in peers():
            if not _is_there(folder, entry):
                continue
            for grain in entry.peer.grains:
                version, said = _ask(entry, names, folder, Path(scratch), grain, jobs)
                asked.append(Asked(entry.name, version, grain, said))
                told(len(names), len(names), f"{entry.name}, {grain.value}")
    return asked


def _is_there(folder: Path, entry: PeerEntry) -> bool:
    """Whether a peer has its package in an environment of its name, or needs none."""
    package = entry.peer.package.replace("-", "_")
    known = (folder / entry.name).glob(f"lib/python*/site-packages/{package}-*.dist-info")
    return not package or (_interpreter(folder, entry).exists() and any(known))


def _interpreter(folder: Path, entry: PeerEntry) -> Path:
    return folder / entry.name / "bin" / "python"


# --- the logs -------------------------------------------------------------------------------------------


def _write_all(labels: Sequence[Label], runs: Path, target: Path, jobs: int, told: Told) -> None:
    with pool_of(jobs) as pool:
        going = {
            pool.submit(_write_one, label.task, runs.resolve() / label.name, target / label.name): label.name
            for label in labels
        }
        for _ in finished(going, told):
            pass


def _write_one(task: str, home: Path, target: Path) -> None:
    """The log of a run as a plain table; none where it cannot be read."""
    with TemporaryDirectory() as scratch:
        logs = only_logs(home / tasks()[task].run, Path(scratch) / "run")
        try:
            write_plain(read(logs), target)
        except StethoscopeError:
            return


# --- the questions --------------------------------------------------------------------------------------


def _ask(
    entry: PeerEntry, names: Sequence[str], folder: Path, logs: Path, grain: Grain, jobs: int
) -> tuple[str, dict[str, Opinion]]:
    if guess := entry.peer.guess:
        return "", {name: guess(name) for name in names}

    def answered(part: Sequence[str]) -> tuple[str, dict[str, Opinion]]:
        with Program(_interpreter(folder, entry), entry.peer) as program:
            version = str(program.version)
            return version, {name: program.opinion(folder_of(logs / name, grain)) for name in part}

    parts = [names[first::jobs] for first in range(jobs) if names[first::jobs]]
    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(answered, parts))
    return done[0][0] if done else "", {name: one for _, part in done for name, one in part.items()}


class Program:
    """A peer in a process of its own, which answers one question after another."""

    def __init__(self, interpreter: Path, peer: Peer) -> None:
        self._peer = peer
        self._process = subprocess.Popen(
            [str(interpreter), "-I", peer_process.__file__, peer.package, peer.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self.version = self._line()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *given: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        self._process.wait()

    def opinion(self, log: Path) -> Opinion:
        """What it says about the log in a folder."""
        printed = self._printed(self._peer.arguments(log)) if log.exists() else None
        if printed is None:
            return NO_OPINION
        return understood(self._peer.understood, printed)

    def _printed(self, arguments: Sequence[str]) -> str | None:
        assert self._process.stdin is not None
        try:
            asked = json.dumps({"arguments": list(arguments), "seconds": PATIENCE})
            self._process.stdin.write(asked + "\n")
            self._process.stdin.flush()
        except OSError:
            return None
        said = self._line()
        return said if isinstance(said, str) else None

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None


def understood(by: Callable[[str], Opinion], printed: str) -> Opinion:
    """What was printed as an opinion; none where it is not what the tool is known to print."""
    try:
        return by(printed)
    except (NoAnswer, KeyError, TypeError, IndexError):
        return NO_OPINION
