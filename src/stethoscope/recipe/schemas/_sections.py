"""The sections of a settings file, and which of them go to which record of a framework."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stethoscope.recipe.schemas._table import Record
from stethoscope.run import Key, Setting


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """Every mapping of a settings file: its path, and the first setting below each of its names."""

    inside: Mapping[Key, Mapping[str, Setting]]

    def names(self, *path: str | int) -> frozenset[str]:
        """The names in the section at a path."""
        return frozenset(self.inside.get(path, ()))

    def value(self, *path: str | int) -> object:
        """The value at a path; None for a section or for nothing."""
        setting = self.inside.get(path[:-1], {}).get(str(path[-1]))
        return setting.value if setting is not None and setting.key == path else None

    def below(self, *path: str | int) -> Iterator[Key]:
        """The paths of the sections directly inside a section or list."""
        return (key for key in self.inside if key[:-1] == path and key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.inside)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A section whose names go to a record.

    `own` are other names that may stand there. `mixed` says that somebody else may read names from the same
    section: then only a misspelling is a fault.
    """

    path: Key
    record: Record
    own: frozenset[str] = field(default_factory=frozenset)
    mixed: bool = False

    def allows(self, name: str) -> bool:
        """Whether a name may stand there whatever the record says."""
        return name in self.own or name.startswith("_")


def sections(settings: Sequence[Setting]) -> Sections:
    """Take the settings of one file apart."""
    inside: dict[Key, dict[str, Setting]] = {}
    for setting in settings:
        for depth, part in enumerate(setting.key):
            if isinstance(part, str):
                inside.setdefault(setting.key[:depth], {}).setdefault(part, setting)
    return Sections(inside)


def share(names: Iterable[str], known: Iterable[str]) -> float:
    """How much of some names is known."""
    names = set(names)
    return len(names.intersection(known)) / len(names) if names else 0.0
