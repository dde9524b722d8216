"""Results on disk: one file of one JSON line for each finished run, written whole or not at all.

FOLDER/trial.json            the verdicts, once everything is judged
FOLDER/trials/<arm>-<seed>-<key>.json   one run; the key is a hash of its files, its command and its seed
FOLDER/trials/work/          copies of the project, gone when a run is done
FOLDER/trials/lock           held while a trial runs here
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stethoscope.errors import StethoscopeError, UnwritableFile
from stethoscope.run.proof import SCHEMA
from stethoscope.trials.trial import Ending, Outcome

RESULTS = "trials"
WORK = ".work"  # hidden: what lies in copies is no part of the run
# What a run may end with and not be made again: the others say nothing, and may go better another time.
FINAL = (Ending.SCORED, Ending.DIVERGED, Ending.CRASHED)
LONGEST_NAME = 60


@contextmanager
def opened(folder: Path) -> Iterator[Path]:
    """The folder of the results, made where it is not there and held against a second trial."""
    results = folder / RESULTS
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / "lock").open("w", encoding="utf-8")
    except OSError as problem:
        raise UnwritableFile(
            f"{results} cannot be written: {(problem.strerror or str(problem)).lower()}."
        ) from problem
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StethoscopeError(
                f"a trial is running in {results} already; wait for it, or end it."
            ) from None
        yield results


def stored(results: Path) -> dict[str, Outcome]:
    """Every result that is whole, by its key; what is not is made again."""
    found = {}
    for file in sorted(results.glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            outcome = _outcome(json.loads(file.read_text(encoding="utf-8")))
            found[outcome.key] = outcome
    return found


def store(results: Path, outcome: Outcome) -> None:
    """Write one result; raises UnwritableFile, and then it is not there."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", outcome.arm)[:LONGEST_NAME]
    line = json.dumps({"schema": SCHEMA, **asdict(outcome)}, allow_nan=True)
    write_whole(results / f"{name}-{outcome.seed}-{outcome.key[:16]}.json", line + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there with all of its text, or not at all."""
    try:
        handle, part = tempfile.mkstemp(prefix=".stethoscope-", dir=path.parent)
        try:
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(part, 0o644)
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise UnwritableFile(f"{path} could not be written: {reason}.") from problem


def _outcome(told: dict[str, Any]) -> Outcome:
    if told.pop("schema") != SCHEMA:
        raise ValueError("written by another version")
    told["ending"] = Ending(told["ending"])
    told["curve"] = tuple((int(step), float(value)) for step, value in told["curve"])
    told["tail"], told["names"] = tuple(told["tail"]), tuple(told["names"])
    return Outcome(**told)
