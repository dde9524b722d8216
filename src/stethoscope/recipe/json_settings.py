"""JSON settings, with the line and span of every value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import replace
from itertools import count

from stethoscope.errors import UnreadableFile
from stethoscope.run import Key, Setting, Where

SYNTAX = "json"
ENDINGS = (".json",)

MAX_SETTINGS = 20_000  # a settings file has hundreds; more is data
MAX_DEPTH = 60  # deeper than any real settings

_SPACE = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """Every value (and every empty list or object) of a JSON text."""
    scan = _Scan(text, file, first_line)
    end = scan.after_space(scan.value(scan.after_space(0), ()))
    if end != len(text):
        raise scan.wrong(end, "something follows the end of the document")
    return tuple(one for number, one in enumerate(scan.settings) if number not in scan.dropped)


class _Scan:
    """A JSON text and the settings met so far; `json` itself does not say where a value stands."""

    def __init__(self, text: str, file: str, first_line: int) -> None:
        self.text = text
        self.file = file
        self.first_line = first_line
        self.newlines = [found.start() for found in re.finditer("\n", text)]
        self.settings: list[Setting] = []
        self.dropped: set[int] = set()  # numbers of settings that do not count

    def value(self, at: int, key: Key) -> int:
        """Take in the value that begins at an offset; gives the offset behind it."""
        opener = self.text[at : at + 1]
        if opener not in ("{", "["):
            return self.scalar(at, key)
        closing = "}" if opener == "{" else "]"
        empty = self.after_space(at + 1)
        if self.text[empty : empty + 1] == closing:
            return self.take(key, {} if opener == "{" else [], at, empty + 1)
        if len(key) >= MAX_DEPTH:
            raise self.wrong(at, f"nested deeper than {MAX_DEPTH} levels")
        return self.members(at, key, closing)

    def members(self, at: int, key: Key, closing: str) -> int:
        """Take in a list or object that is not empty."""
        begun: dict[str | int, tuple[int, int]] = {}  # the settings that each name gave
        for index in count():
            at = self.after_space(at + 1)
            name: str | int = index
            if closing == "}":
                name, at = self.name(at)
            first = len(self.settings)
            at = self.after_space(self.value(at, (*key, name)))
            if name in begun:
                first = self.replace(begun[name], first)
            begun[name] = (first, len(self.settings))
            if self.text[at : at + 1] == closing:
                break
            if self.text[at : at + 1] != ",":
                raise self.wrong(at, f"expected , or {closing}")
        return at + 1

    def replace(self, earlier: tuple[int, int], first: int) -> int:
        """Take out what an earlier entry of the same name gave: the last one counts."""
        taken_out = self.settings[slice(*earlier)]
        places = tuple(where for setting in taken_out for where in (setting.where, *setting.replaces))
        later = [replace(one, replaces=(*one.replaces, *places[:1])) for one in self.settings[first:]]
        self.settings[first:] = later
        # Dropped at the end, so that the settings of names in between keep their numbers.
        self.dropped.update(range(*earlier))
        return first

    def scalar(self, at: int, key: Key) -> int:
        """Take in a string, number or constant."""
        try:
            value, end = _decoder.raw_decode(self.text, at)
        except (ValueError, RecursionError):
            raise self.wrong(at, "expected a value") from None
        return self.take(key, value, at, end)

    def name(self, at: int) -> tuple[str, int]:
        """An object's key, and the offset of its value."""
        if self.text[at : at + 1] != '"':
            raise self.wrong(at, "expected a quoted key")
        try:
            name, end = _decoder.raw_decode(self.text, at)
        except ValueError:
            raise self.wrong(at, "a key that does not end") from None
        end = self.after_space(end)
        if self.text[end : end + 1] != ":":
            raise self.wrong(end, "expected :")
        return str(name), self.after_space(end + 1)

    def after_space(self, at: int) -> int:
        """The offset of what follows the white space."""
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def take(self, key: Key, value: object, start: int, end: int) -> int:
        """Keep one value with its address; gives the offset behind it."""
        if len(self.settings) >= MAX_SETTINGS:
            raise UnreadableFile(
                f"{self.file}: holds more than {MAX_SETTINGS:,} values, which is no settings file"
            )
        where = Where(self.file, line=self.line(start))
        plain = not isinstance(value, str)
        self.settings.append(Setting(key, value, where, self.text[start:end], (start, end), plain))
        return end

    def line(self, at: int) -> int:
        """The line an offset is on."""
        return bisect_right(self.newlines, at - 1) + self.first_line

    def wrong(self, at: int, what: str) -> UnreadableFile:
        """The error to raise for what stands at an offset."""
        return UnreadableFile(f"{self.file}: not valid JSON: line {self.line(at)}: {what}")
