"""Hydra's overrides: `optim.lr=1e-3`, `+trainer.amp=true`, `~scheduler`, `model=small`.

A run keeps those it was given in `.hydra/overrides.yaml`, one to an element of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stethoscope.recipe import yaml_settings
from stethoscope.recipe._text import MAX_DEPTH
from stethoscope.recipe._tree import Node, Section, TooMuch
from stethoscope.run import Key, Setting

NAME = "overrides.yaml"

_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=\s~+][^=]*)(?:=(?P<value>.*))?", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(?:_\d+)*|[-+]?(?:\d+(?:_\d+)*\.?[\d_]*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_FUNCTION = re.compile(r"\s*(?:choice|range|interval|glob|shuffle|sort|tag|cast|extend_list)\(")
_BARE = re.compile(r"[^,\[\]{}:'\"]+")


@dataclass(frozen=True, slots=True)
class Override:
    """One override: the group and package, or the path, it speaks of, and the value with its address."""

    key: str
    node: Node
    sign: str = ""

    @property
    def deletes(self) -> bool:
        """Whether it takes something away."""
        return self.sign == "~"

    @property
    def appends(self) -> bool:
        """Whether it adds what no config lists."""
        return self.sign in {"+", "++"}

    @property
    def group(self) -> str:
        """The name as that of a config group."""
        return self.key.partition("@")[0]

    @property
    def package(self) -> str | None:
        """The package that a group's config goes to, where the override says it."""
        _, at_sign, package = self.key.partition("@")
        return package if at_sign else None

    @property
    def path(self) -> Key:
        """The name as the key of a value."""
        parts = re.findall(r"[^.\[\]]+", self.key)
        return tuple(int(part) if part.isdigit() else part for part in parts)

    @property
    def value(self) -> object:
        """The plain value, of one word or a list of words."""
        if isinstance(self.node, Setting):
            return self.node.value
        return [below.value for below in self.node.items.values() if isinstance(below, Setting)]


def overrides_in(text: str, file: str) -> tuple[Override, ...]:
    """The overrides that `.hydra/overrides.yaml` holds."""
    given = yaml_settings.read(text, file)
    return tuple(overrides_of(setting for setting in given if isinstance(setting.value, str)))


def overrides_of(words: Iterable[Setting]) -> Iterator[Override]:
    """Overrides from words as they were typed: the value of each setting is a word, its text the word or what
    stands behind the sign."""
    for word in words:
        found = _OVERRIDE.fullmatch(str(word.value).strip())
        if found is None or (found["value"] is None and found["sign"] != "~"):
            continue
        written = found["value"] or ""
        span = word.span
        if span is not None and word.text == word.value:  # the address is that of the whole word
            start = str(word.value).index("=") + 1 if found["value"] is not None else 0
            span = (span[0] + start, span[1]) if span[1] - span[0] == len(word.text) else None
        leaf = replace(word, key=(), text=written, span=span, plain=True)
        yield Override(found["key"].strip(), value_of(written, leaf), found["sign"] or "")


def value_of(text: str, leaf: Setting) -> Node:
    """A written value as Hydra reads it; a sweep or a function call is unknown."""
    scan = _Scan(text, leaf)
    if not leaf.known or _FUNCTION.match(text):
        return replace(leaf, value=text, known=False)
    try:
        node, end = scan.value(0, 0)
    except (_NotRead, TooMuch):
        return replace(leaf, value=text, known=False)
    if text[end:].strip():
        return replace(leaf, value=text, known=False)  # a,b is a sweep over both
    if isinstance(node, Setting):
        return replace(node, text=leaf.text, span=leaf.span, plain=leaf.plain)
    return node


class _NotRead(Exception):
    """A value of no form that Hydra knows."""


@dataclass(frozen=True, slots=True)
class _Scan:
    text: str
    leaf: Setting

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        """The value that begins at an offset, and the offset behind it."""
        if depth > MAX_DEPTH:
            raise TooMuch
        at = self.after_space(at)
        opener = self.text[at : at + 1]
        if opener == "[":
            return self.members(at, "]", depth)
        if opener == "{":
            return self.members(at, "}", depth)
        quoted = _QUOTED.match(self.text, at)
        if quoted is not None:
            mark = quoted[0][0]
            return self.scalar(quoted[0][1:-1].replace(f"\\{mark}", mark)), quoted.end()
        end = self.bare_end(at)
        return self.scalar(_as_hydra(self.text[at:end].strip())), end

    def bare_end(self, at: int) -> int:
        """The offset behind a word without quotes; `${...}` belongs to it whole."""
        while at < len(self.text):
            if self.text.startswith("${", at):
                close = self.text.find("}", at)
                at = len(self.text) if close < 0 else close + 1
            elif self.text[at] in ",]}":
                break
            else:
                at += 1
        return at

    def members(self, at: int, closing: str, depth: int) -> tuple[Node, int]:
        items: dict[str | int, Node] = {}
        at = self.after_space(at + 1)
        if self.text[at : at + 1] == closing:
            return self.scalar([] if closing == "]" else {}), at + 1
        while True:
            name: str | int = len(items)
            if closing == "}":
                name, at = self.name(at)
            items[name], at = self.value(at, depth + 1)
            at = self.after_space(at)
            if self.text[at : at + 1] == closing:
                return Section(items, closing == "]", self.leaf.where), at + 1
            if self.text[at : at + 1] != ",":
                raise _NotRead
            at = self.after_space(at + 1)

    def name(self, at: int) -> tuple[str, int]:
        found = _QUOTED.match(self.text, at) or _BARE.match(self.text, at)
        if found is None or self.text[found.end() : found.end() + 1] != ":":
            raise _NotRead
        return found[0].strip().strip("'\""), found.end() + 1

    def after_space(self, at: int) -> int:
        while self.text[at : at + 1].isspace():
            at += 1
        return at

    def scalar(self, value: object) -> Setting:
        return replace(self.leaf, value=value, text=str(value), span=None, plain=False)


def _as_hydra(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text) and len(text) < 400:
        digits = text.replace("_", "")
        return int(digits) if re.fullmatch(r"[-+]?\d+", digits) else float(digits)
    if text.lower() in {"inf", "+inf", "-inf", "nan"}:
        return float(text)
    return text
