"""What of a report changed since it was last sent: whole blocks of markup, and the ends of curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from stethoscope.report.html.markup import VOID

Json = dict[str, Any]
Patch = list[Any]

STATIC = "static"  # pictures for a page without script; on a page that is alive there is one
_VOID = VOID | {"input", "img", "path"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A report as it stands on a page: its blocks of markup by name, in order, and what its charts draw."""

    title: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    charts: Sequence[Json] = ()
    status: Mapping[str, Any] = field(default_factory=dict)


def difference(before: Shown, after: Shown) -> Json:
    """What a page that shows `before` needs to show `after`; empty where it needs nothing."""
    told: Json = {}
    if before.title != after.title:
        told["title"] = after.title
    if before.status != after.status:
        told["status"] = dict(after.status)
    if before.blocks != after.blocks:
        told["order"] = list(after.blocks)
        told["blocks"] = {
            name: markup for name, markup in after.blocks.items() if before.blocks.get(name) != markup
        }
    if list(before.charts) != list(after.charts):
        told["charts"] = patch(list(before.charts), list(after.charts))
    return told


def patch(before: Any, after: Any) -> Patch:
    """How to make one value of JSON from another.

    ["set", value]; ["keys", {key: patch}] for an object with the same keys; ["items", {index: patch}] for a
    list of as many objects; ["tail", how many stay, the rest] for a list that begins alike.
    """
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return ["keys", {key: patch(before[key], after[key]) for key in after if before[key] != after[key]}]
    if isinstance(before, list) and isinstance(after, list) and before and after:
        if len(before) == len(after) and all(isinstance(one, dict) for one in (*before, *after)):
            pairs = enumerate(zip(before, after, strict=True))
            return ["items", {str(at): patch(old, new) for at, (old, new) in pairs if old != new}]
        same = _same(before, after)
        if same:
            return ["tail", same, after[same:]]
    return ["set", after]


def patched(before: Any, change: Patch) -> Any:
    """What the page makes of a patch."""
    match change:
        case ["set", value]:
            return value
        case ["keys", keys]:
            return before | {key: patched(before[key], inner) for key, inner in keys.items()}
        case ["items", items]:
            return [patched(o, items[str(at)]) if str(at) in items else o for at, o in enumerate(before)]
        case ["tail", same, rest]:
            return [*before[:same], *rest]
    raise ValueError(f"{change[:1]} is no patch")


def _same(before: list[Any], after: list[Any]) -> int:
    """How many of the first items are the same."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(before), len(after)))


def blocks_of(markup: str) -> dict[str, str]:
    """The elements at the top of a piece of markup, by id or by kind, without pictures that nobody sees."""
    splitter = _Splitter(markup)
    splitter.feed(markup)
    splitter.close()
    named: dict[str, str] = {}
    for name, first, last in splitter.found:
        while name in named:
            name += "+"
        named[name] = splitter.without_pictures(first, last)
    return named


class _Splitter(HTMLParser):
    """Finds where elements begin and end; the markup is our own, so every element that opens closes."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=False)
        self.markup = markup
        self.found: list[tuple[str, int, int]] = []
        self._pictures: list[tuple[int, int]] = []
        self._open: list[tuple[str, int, bool]] = []
        lengths = [len(line) for line in markup.split("\n")]
        self._lines = [0]
        for length in lengths:
            self._lines.append(self._lines[-1] + length + 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = dict(attrs)
        name = given.get("id") or tag if not self._open else tag
        picture = given.get("class") == STATIC
        start = self._at() + (len(self.get_starttag_text() or "") if picture else 0)
        self._open.append((name, start, picture))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """What closes itself holds nothing."""

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or not self._open:
            return
        name, start, picture = self._open.pop()
        if picture:
            self._pictures.append((start, self._at()))
        if not self._open:
            self.found.append((name, start, self.markup.index(">", self._at()) + 1))

    def without_pictures(self, first: int, last: int) -> str:
        parts, at = [], first
        for start, end in self._pictures:
            if first <= start and end <= last:
                parts.append(self.markup[at:start])
                at = end
        return "".join([*parts, self.markup[at:last]])

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column
