"""TOML settings as `tomllib` loads them, with the line and span of every value.

[optimizer]
lr = 8e-4
[lr_scheduler]
warmup_steps = 2_000
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import count

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._text import MAX_DEPTH, MAX_SETTINGS, Text
from stethoscope.run import Key, Setting

SYNTAX = "toml"
ENDINGS = (".toml",)

_SPACE = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
# A date may have a space before its time.
_BARE_VALUE = re.compile(r"\d{4}-\d\d-\d\d [^,\]}\s#]+|[^,\]}\s#]+")


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """Every value (and every empty table or array) of a TOML text."""
    scan = _Scan(Text(text, file, first_line))
    scan.document()
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise UnreadableFile(f"{file}: not valid TOML: {_moved(str(problem), first_line)}") from None
    return tuple(scan.all_settings())


def _moved(said: str, first_line: int) -> str:
    """`tomllib`'s complaint with the line that the text has in its file."""
    return re.sub(r"line (\d+)", lambda found: f"line {int(found[1]) + first_line - 1}", said)


class _Scan:
    """A TOML text and the settings met so far; `tomllib` does not say where a value stands."""

    def __init__(self, text: Text) -> None:
        self.source = text
        self.text = text.text
        self.settings: list[Setting] = []
        self.tables: list[tuple[Key, int]] = []  # every header, and where it stands
        self.arrays: dict[Key, int] = {}  # an array of tables -> the index of its last

    def document(self) -> None:
        """Take in the whole text, statement by statement."""
        above: Key = ()
        at = self.after(_BETWEEN, 0)
        while at < len(self.text):
            if self.text[at] == "[":
                above, at = self.header(at)
            else:
                at = self.pair(at, above)
            at = self.after(_SPACE, at)
            if self.text[at : at + 1] not in ("", "\n", "\r", "#"):
                raise self.wrong(at, "something follows the end of a statement")
            at = self.after(_BETWEEN, at)

    def header(self, at: int) -> tuple[Key, int]:
        """The table that a `[header]` or `[[header]]` opens, and the offset behind it."""
        brackets = 2 if self.text.startswith("[[", at) else 1
        names, end = self.names(at + brackets)
        if not self.text.startswith("]" * brackets, end):
            raise self.wrong(end, "expected ]")
        key = self.placed(names[:-1])
        if brackets == 2:
            whole = (*key, names[-1])
            self.arrays[whole] = self.arrays.get(whole, -1) + 1
            self.forget_below((*whole, self.arrays[whole]))
        key = self.placed(names)
        self.tables.append((key, at))
        return key, end + brackets

    def placed(self, names: tuple[str, ...]) -> Key:
        """A header's names with the index of the table it speaks of, where one is in an array."""
        key: Key = ()
        for name in names:
            key = (*key, name)
            if key in self.arrays:
                key = (*key, self.arrays[key])
        return key

    def forget_below(self, key: Key) -> None:
        """A fresh table of an array has no arrays of its own yet."""
        for other in [other for other in self.arrays if other[: len(key)] == key]:
            del self.arrays[other]

    def pair(self, at: int, above: Key) -> int:
        """Take in `key = value`; gives the offset behind it."""
        names, end = self.names(at)
        if self.text[end : end + 1] != "=":
            raise self.wrong(end, "expected =")
        return self.value(self.after(_SPACE, end + 1), (*above, *names))

    def names(self, at: int) -> tuple[tuple[str, ...], int]:
        """A dotted key, and the offset of what follows it and its space."""
        names: list[str] = []
        while len(names) <= MAX_DEPTH:
            at = self.after(_SPACE, at)
            found = _BARE_KEY.match(self.text, at) or _STRING.match(self.text, at)
            if found is None:
                raise self.wrong(at, "expected a key")
            names.append(found[0] if found[0][0] not in "\"'" else str(self.loaded(found[0], at)))
            at = self.after(_SPACE, found.end())
            if self.text[at : at + 1] != ".":
                return tuple(names), at
            at += 1
        raise self.source.too_deep()

    def value(self, at: int, key: Key) -> int:
        """Take in the value that begins at an offset; gives the offset behind it."""
        opener = self.text[at : at + 1]
        if opener in ("[", "{"):
            if len(key) >= MAX_DEPTH:
                raise self.source.too_deep()
            return self.members(at, key, "]" if opener == "[" else "}")
        found = _STRING.match(self.text, at) or _BARE_VALUE.match(self.text, at)
        if found is None:
            raise self.wrong(at, "expected a value")
        return self.take(key, self.loaded(found[0], at), at, found.end())

    def members(self, at: int, key: Key, closing: str) -> int:
        """Take in an array or inline table."""
        start = at
        for index in count():
            at = self.after(_BETWEEN, at + 1)
            if self.text[at : at + 1] == closing:
                if index == 0:
                    return self.take(key, [] if closing == "]" else {}, start, at + 1)
                return at + 1
            at = self.value(at, (*key, index)) if closing == "]" else self.pair(at, key)
            at = self.after(_BETWEEN, at)
            if self.text[at : at + 1] == closing:
                return at + 1
            if self.text[at : at + 1] != ",":
                raise self.wrong(at, f"expected , or {closing}")
        raise AssertionError("counting does not end")

    def loaded(self, written: str, at: int) -> object:
        """What `tomllib` makes of one scalar."""
        try:
            return tomllib.loads(f"value = {written}")["value"]
        except (tomllib.TOMLDecodeError, ValueError):
            raise self.wrong(at, f"{written[:40]} is no value") from None

    def take(self, key: Key, value: object, start: int, end: int) -> int:
        """Keep one value with its address; gives the offset behind it."""
        if len(self.settings) >= MAX_SETTINGS:
            raise self.source.too_many()
        written, plain = self.text[start:end], not isinstance(value, str)
        self.settings.append(Setting(key, value, self.source.where(start), written, (start, end), plain))
        return end

    def all_settings(self) -> Iterator[Setting]:
        """The values in the order written, and the tables that hold nothing."""
        keys = [setting.key for setting in self.settings] + [key for key, _ in self.tables]
        parents = {key[:length] for key in keys for length in range(len(key))}
        empty = [(key, at) for key, at in self.tables if key not in parents]
        yield from self.settings
        for key, at in empty:
            yield Setting(key, {}, self.source.where(at))

    def after(self, pattern: re.Pattern[str], at: int) -> int:
        """The offset behind what is passed over."""
        found = pattern.match(self.text, at)
        return found.end() if found else at

    def wrong(self, at: int, what: str) -> UnreadableFile:
        """The error to raise for what stands at an offset."""
        return self.source.wrong("TOML", at, what)
