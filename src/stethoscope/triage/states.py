"""The state of a run's files as one word: where it is the same, so is the diagnosis."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import stethoscope
from stethoscope.run.folder import Entry, walk
from stethoscope.run.repository import is_project, repository_of
from stethoscope.triage.run_paths import RunPath

SAMPLE = 4096  # bytes of each end of a log that are looked at beside its size and time
READ_ABOVE = (
    ".py",
    ".yaml",
    ".yml",
    ".toml",
    ".json",
    ".sh",
    ".txt",
    ".lock",
    ".cfg",
)  # of the project around


def state_of(run: RunPath) -> str:
    """The state of a run: its files, those of the project around it, and this program."""
    digest = hashlib.blake2b(program_state().encode(), digest_size=16)
    folder = run.path if run.path.is_dir() else run.path.parent
    _add(digest, walk(folder, "").files if run.path.is_dir() else run.logs)
    for log in run.logs:
        digest.update(str(_sampled(log)).encode())
    around = None if is_project(folder) else repository_of(folder)
    if around is not None:
        digest.update(_project_state(str(around)).encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def program_state() -> str:
    """This program's version; what is changed in place is another one."""
    digest = hashlib.blake2b(stethoscope.__version__.encode(), digest_size=8)
    home = Path(os.path.dirname(stethoscope.__file__))
    _add(digest, walk(home, "", wanted=lambda name: name.endswith((".py", ".json"))).files)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _project_state(root: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, walk(Path(root), "", wanted=lambda name: name.lower().endswith(READ_ABOVE)).files)
    return digest.hexdigest()


def _add(digest: hashlib.blake2b, entries: Iterable[Entry]) -> None:
    for entry in entries:
        digest.update(f"{entry.file}\0{entry.size}\0{entry.changed!r}\n".encode("utf-8", "surrogateescape"))


def _sampled(entry: Entry) -> int:
    """A checksum of both ends of a file: a log that was written again within a clock tick is another one."""
    try:
        with entry.path.open("rb") as stream:
            head = stream.read(SAMPLE)
            stream.seek(max(0, entry.size - SAMPLE))
            return zlib.crc32(stream.read(SAMPLE), zlib.crc32(head))
    except OSError:
        return 0
