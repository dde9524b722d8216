"""Proofs: what recorded trials say about changes, read from the `trial.json` beside a run."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULT = "trial.json"
RUNS, LOCK = "trials", "lock"  # the folder beside it, and what only a trial puts there
KIND = "trial"
SCHEMA = 1
MOST_BYTES = 32 << 20  # a trial of forty changes on a hundred seeds is below 10 MB
CURING = frozenset({"necessary", "sufficient"})
HELPING = frozenset({"necessary", "sufficient", "helpful"})
_BEGINNING = re.compile(rb'\s*\{\s*"schema"\s*:\s*\d+\s*,\s*"kind"\s*:\s*"trial"')
_ENOUGH = 200  # bytes; the two keys take forty
REFUTING = frozenset({"no effect", "harmful", "changes the yardstick", "cannot be applied"})


@dataclass(frozen=True, slots=True)
class Proof:
    """What one trial found about one change. `change` is the name of a remedy where it was a prescribed one.

    `causes` are those that the change was to cure, `settings` the keys and values that it set, `files` those
    that it edited. `complete` is false where the trial was cut short.
    """

    file: str
    change: str
    title: str
    classes: tuple[str, ...]
    why: str
    metric: str
    seeds: int
    complete: bool
    causes: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()

    @property
    def cures(self) -> bool:
        """Whether the change was seen to cure: alone, or as a part that the cure cannot do without."""
        return not CURING.isdisjoint(self.classes)

    @property
    def helps(self) -> bool:
        """Whether the change was seen to help."""
        return not HELPING.isdisjoint(self.classes)

    @property
    def refuted(self) -> bool:
        """Whether the change was seen to do nothing good."""
        return not REFUTING.isdisjoint(self.classes)

    @property
    def spoken(self) -> str:
        """The finding in words."""
        cut = "" if self.complete else ", cut short"
        return f"{' and '.join(self.classes)} in a trial on {self.seeds} seeds{cut}"


def holds_trials(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is where a trial keeps its own runs, which are no part of the run beside it."""
    return os.path.basename(folder) == RUNS and os.path.lexists(os.path.join(folder, LOCK))


def is_trial(file: str | os.PathLike[str]) -> bool:
    """Whether a file is the result of a trial, by its beginning; one that cannot be read is none."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):  # a pipe of that name would be waited for
            return False
        with open(file, "rb") as stream:
            return _BEGINNING.match(stream.read(_ENOUGH)) is not None
    except OSError:
        return False


def proofs(run: Path) -> tuple[Proof, ...]:
    """Everything that the trial beside a run found; nothing where there is none that can be read."""
    folder = run if run.is_dir() else run.parent
    file = folder / RESULT
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        if is_trial(file) and file.stat().st_size <= MOST_BYTES:
            return _proofs(json.loads(file.read_text(encoding="utf-8")), str(file))
    return ()


def _proofs(told: dict[str, Any], file: str) -> tuple[Proof, ...]:
    if told["kind"] != KIND or told["schema"] != SCHEMA:
        return ()
    return tuple(_proof(change, told, file) for change in told["changes"])


def _proof(change: dict[str, Any], told: dict[str, Any], file: str) -> Proof:
    edits = change["edits"]
    return Proof(
        file,
        str(change["name"]),
        str(change["title"]),
        tuple(str(one) for one in change["classes"]),
        str(change["why"]),
        str(told["metric"]["name"]),
        len(told["seeds"]),
        bool(told["complete"]),
        tuple(str(one) for one in change.get("causes", ())),
        tuple((str(edit["key"]), str(edit["value"])) for edit in edits if edit["kind"] == "newvalue"),
        tuple(dict.fromkeys(str(edit["file"]) for edit in edits if edit.get("file"))),
    )
