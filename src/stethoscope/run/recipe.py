"""The settings of a run, each with the place it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.run.where import Where

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One value: its path of keys, the loaded value, its text as written, and where that text stands.

    `span` holds the character offsets of the value in its file, for edits; `plain` says that a
    scalar was written without quotes or tag. `replaces` names the places that set the same key and do
    not count: earlier lines of the same file, or a file that this one builds on. `through` names the other
    lines a value came by, such as that of a shell variable. Where `known` is false the value depends on
    something that only the run itself knew, and `value` holds the text that would have been resolved.
    """

    key: Key
    value: object
    where: Where
    text: str = ""
    span: tuple[int, int] | None = None
    plain: bool = False
    replaces: tuple[Where, ...] = ()
    through: tuple[Where, ...] = ()
    known: bool = True

    @property
    def dotted(self) -> str:
        """The key as people write it: `train.losses.0.type`."""
        return ".".join(map(str, self.key))

    @property
    def leaf(self) -> str:
        """The last named part of the key: `lr` for `train.optim_g.lr`."""
        for part in reversed(self.key):
            if isinstance(part, str):
                return part
        return ""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A settings file in use. `origin` is "given", "run", "snapshot", "log", "repository" or "launcher".

    `maintained` is false for a record (a config dumped in a log, a recorded snapshot): records are
    read and never edited. `changed_after_start` is None where it cannot be known. `note` says what a
    reader should know about the file, such as the keys that differ from what the log recorded.
    """

    file: str
    text: str
    origin: str
    syntax: str = "yaml"
    maintained: bool = True
    changed_after_start: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings in use; where two files set one key, the file named first wins.

    `shadowed` are settings that a stronger layer overrides: a file's, where the command line says
    otherwise. `defaults` are what the program's own parsers give where nothing else is said.
    """

    settings: tuple[Setting, ...] = ()
    files: tuple[ConfigFile, ...] = ()
    shadowed: tuple[Setting, ...] = ()
    defaults: tuple[Setting, ...] = ()

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.settings)

    def get(self, dotted: str) -> Setting | None:
        """The setting with exactly this key."""
        return next((setting for setting in self.settings if setting.dotted == dotted), None)

    def layers(self, dotted: str) -> tuple[Setting, ...]:
        """Everything that sets a key, the one that counts first."""
        every = (*self.settings, *self.shadowed, *self.defaults)
        return tuple(setting for setting in every if setting.dotted == dotted)

    def named(self, *leaves: str) -> tuple[Setting, ...]:
        """The settings whose last key is one of these names."""
        return tuple(setting for setting in self.settings if setting.leaf in leaves)

    def file(self, name: str) -> ConfigFile | None:
        """The settings file of this name."""
        return next((config for config in self.files if config.file == name), None)
