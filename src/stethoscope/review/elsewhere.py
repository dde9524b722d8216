"""Recorded trials of other trainings: what the same kind of change did there. It is no proof here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stethoscope.review.claim import DOWN, UP, Fact
from stethoscope.review.parts import Line
from stethoscope.review.resolving import Target, quantity_of
from stethoscope.review.settings_lines import settings_in
from stethoscope.review.values import same, value_of
from stethoscope.run import Where

_MOST_BYTES = 32 << 20
_MOST_FACTS = 2  # trials cited for one claim
_UNDECIDED = frozenset({"undecided"})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One setting that a recorded trial changed, alone, and what came of it."""

    case: str
    change: str
    title: str
    found: str
    why: str
    leaf: str
    old: object
    new: object
    quantity: str

    @property
    def direction(self) -> str:
        """Whether the trial raised or lowered the setting."""
        return _direction(self.old, self.new)


def recorded_in(folder: Path) -> tuple[Recorded, ...]:
    """The changes of single settings in the `*.json` below a folder; what is no trial is passed over."""
    found: list[Recorded] = []
    for file in sorted(folder.rglob("*.json")):
        try:
            if file.stat().st_size <= _MOST_BYTES:
                found += _of_trial(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return tuple(found)


def _of_trial(told: dict[str, Any]) -> Iterator[Recorded]:
    for change in told["changes"]:
        edits = change["edits"]
        if len(edits) != 1 or _UNDECIDED.intersection(change["classes"]):
            continue
        for leaf, old, new in _telling(_differences(edits[0])):
            yield Recorded(
                told["name"],
                change["name"],
                change["title"],
                " and ".join(change["classes"]),
                change["why"],
                leaf,
                old,
                new,
                quantity_of((leaf,), new),
            )


def _differences(edit: dict[str, Any]) -> list[tuple[str, object, object]]:
    """The settings that one edit gives another value; nothing for an edit of source."""
    if edit.get("kind") == "newvalue":
        return [(str(edit["key"]).rpartition(".")[2], None, value_of(str(edit["value"])))]
    if str(edit.get("file", "")).endswith(".py"):
        return []
    old, new = (_values(str(edit.get(side, ""))) for side in ("old", "to"))
    return [(leaf, old.get(leaf), value) for leaf, value in new.items() if not same(old.get(leaf), value)]


def _telling(found: list[tuple[str, object, object]]) -> list[tuple[str, object, object]]:
    """Of settings that change together the one that names the kind; none where no one does."""
    return found if len(found) == 1 else [one for one in found if one[0] == "type"]


def _values(text: str) -> dict[str, object]:
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), start=1)]
    return {one.path[-1].lower(): value_of(one.value) for one in settings_in(lines, "")}


def facts(target: Target, recorded: tuple[Recorded, ...]) -> tuple[Fact, ...]:
    """What trials elsewhere found about the same change, or about one of its kind."""
    alike = [one for one in recorded if _is_alike(one, target)]
    now = target.known.value if target.known else None
    # A trial that began with the run's own value comes nearest.
    alike.sort(key=lambda one: (one.leaf != target.leaf.lower(), not same(one.old, now), one.case))
    return tuple(
        Fact(
            f"recorded trial of {one.case}, {one.change} ({one.title}): {one.found}; {one.why}",
            (Where(f"clinic:{one.case}"),),
            "elsewhere",
        )
        for one in alike[:_MOST_FACTS]
    )


def _is_alike(one: Recorded, target: Target) -> bool:
    """Whether a trial moved the same setting, or the same quantity, the same way."""
    if target.known is not None and same(target.known.value, target.value):
        return False  # it changes nothing here
    if one.leaf in {"type", "name", "enabled"} and one.leaf == target.leaf.lower():
        return same(one.new, target.value) and (one.leaf != "enabled" or target.quantity == one.quantity)
    is_same = one.leaf == target.leaf.lower()
    if not is_same and (
        not one.quantity or one.quantity != target.quantity or one.found == "cannot be applied"
    ):
        return False
    if one.direction and target.direction:
        return one.direction == target.direction
    return same(one.new, target.value)


def _direction(old: object, new: object) -> str:
    if isinstance(old, bool) or isinstance(new, bool):
        return ""
    if not (isinstance(old, int | float) and isinstance(new, int | float)) or same(old, new):
        return ""
    return UP if new > old else DOWN
