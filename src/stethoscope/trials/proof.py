"""Proofs: what recorded trials say about changes, read from the `trial.json` beside a run."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULT = "trial.json"
KIND = "trial"
SCHEMA = 1
MOST_BYTES = 32 << 20  # a trial of forty changes on a hundred seeds is below 10 MB
# The words of the file, kept apart from the rest of the room: a proof is read where nothing is tried.
CURES = frozenset({"necessary", "sufficient", "helpful"})
REFUTES = frozenset({"no effect", "harmful", "changes the yardstick"})


@dataclass(frozen=True, slots=True)
class Proof:
    """What one trial found about one change. `change` is the name of a remedy where it was a prescribed one.

    `settings` are the keys and values that it set, `files` those that it edited. `complete` is false where
    the trial was cut short.
    """

    file: str
    change: str
    title: str
    classes: tuple[str, ...]
    why: str
    metric: str
    seeds: int
    complete: bool
    settings: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()

    @property
    def cures(self) -> bool:
        """Whether the change was seen to help."""
        return not CURES.isdisjoint(self.classes)

    @property
    def refuted(self) -> bool:
        """Whether the change was seen to do nothing good."""
        return not REFUTES.isdisjoint(self.classes)


def proofs(run: Path) -> tuple[Proof, ...]:
    """Everything that the trial beside a run found; nothing where there is none that can be read."""
    folder = run if run.is_dir() else run.parent
    file = folder / RESULT
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        if file.stat().st_size <= MOST_BYTES:
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
        tuple((str(edit["key"]), str(edit["value"])) for edit in edits if edit["kind"] == "newvalue"),
        tuple(dict.fromkeys(str(edit["file"]) for edit in edits if edit.get("file"))),
    )
