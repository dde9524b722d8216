"""Values of a Hydra config that the configs of its own defaults list write over.

defaults:
  - _self_            what stands here comes first, and each later entry replaces it
  - optim: sgd        conf/optim/sgd.yaml has a rate of its own
optim:
  lr: 0.02            never counts
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.run import Recipe, Setting, Where

_ENTRY = re.compile(r"^\s*-\s*(?P<entry>[^#\n]+?)\s*(?:#.*)?$", re.MULTILINE)
_LIST = re.compile(r"^defaults:[^\n]*\n(?P<entries>(?:\s*(?:-[^\n]*|#[^\n]*)?\n)+)", re.MULTILINE)
_VALUE = re.compile(r"^\s*[\w.-]+:\s*(?P<value>[^#\n]*?)\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True, eq=False)
class Beaten:
    """A value that does not count, where it stands, and the setting that counts."""

    value: str
    where: Where
    winner: Setting


def beaten_by_groups(recipe: Recipe) -> Iterator[Beaten]:
    """Each value that a config gives a group, and that the chosen option of the group replaces."""
    for setting in recipe:
        group = str(setting.key[0]) if len(setting.key) > 1 else ""
        winner = recipe.file(setting.where.file)
        if not group or winner is None or re.search(r"^#\s*@package\s+_global_", winner.text, re.MULTILINE):
            continue
        for place in setting.replaces:
            file = recipe.file(place.file)
            if file is None or place.file == setting.where.file or not _comes_first(file.text, group):
                continue
            value = _value_at(file.text, place.line)
            if value and value != str(setting.text or setting.value):
                yield Beaten(value, place, setting)


def _comes_first(text: str, group: str) -> bool:
    """Whether a defaults list names its own config before it chooses an option of a group."""
    listed = _LIST.search(text)
    entries = [one["entry"] for one in _ENTRY.finditer(listed["entries"])] if listed is not None else []
    own = entries.index("_self_") if "_self_" in entries else len(entries)
    return any(re.match(rf"/?(?:[\w/]+/)?{re.escape(group)}\s*:", one) for one in entries[own + 1 :])


def _value_at(text: str, line: int | None) -> str:
    lines = text.splitlines()
    found = _VALUE.match(lines[line - 1]) if line is not None and 0 < line <= len(lines) else None
    return found["value"] if found is not None else ""
