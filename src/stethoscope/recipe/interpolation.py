"""`${...}` in settings, resolved as OmegaConf does; what only the run could know stays unknown.

lr: 0.1
warmup: {from: ${lr}, name: run_${seed}, home: "${oc.env:HOME}"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stethoscope.recipe._text import MAX_DEPTH, MAX_SETTINGS
from stethoscope.recipe._tree import Node, Section, TooMuch, at, settings_of, tree_of
from stethoscope.recipe.written_values import as_written
from stethoscope.run import Key, Setting, Where

LONGEST = 10_000  # characters of a resolved text; texts that double each other end here

_FLOAT = re.compile(
    r"[-+]?\d+(?:_\d+)*\.[\d_]*(?:[eE][-+]?\d+)?|[-+]?\d+(?:_\d+)*[eE][-+]?\d+|\.\d+(?:_\d+)*(?:[eE][-+]\d+)?"
)
_RESOLVER = re.compile(r"\s*([A-Za-z_][\w.]*)\s*:")
_PART = re.compile(r"\[([^\[\]]*)\]|([^.\[\]]+)")


def loaded_by_omegaconf(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings read from YAML with the values OmegaConf gives them: 1e-4 is a number, a date is a text."""
    return tuple(_as_omegaconf(setting) for setting in settings)


def _as_omegaconf(setting: Setting) -> Setting:
    value = setting.value
    if isinstance(value, str) and setting.plain and _FLOAT.fullmatch(value):
        return replace(setting, value=float(value.replace("_", "")))
    if value == "???":  # to be given by the command line, which is not here
        return replace(setting, known=False)
    if isinstance(value, str | int | float | bool | dict | list | None):
        return setting
    return replace(setting, value=setting.text)


def resolved(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """Settings with every `${...}` replaced by what it refers to, or marked as unknown; raises TooMuch."""
    if not any(isinstance(s.value, str) and "${" in s.value for s in settings):
        return settings
    return tuple(settings_of(resolved_tree(tree_of(settings, Where()))))


def resolved_tree(tree: Node) -> Node:
    """A tree with every `${...}` replaced by what it refers to."""
    return _Resolver(tree).whole((), tree)


@dataclass(slots=True)
class _Resolver:
    """The tree that references lead into, what was resolved already, and what is being resolved."""

    tree: Node
    done: dict[Key, Node] = field(default_factory=dict)
    busy: set[Key] = field(default_factory=set)
    given: int = 0

    def whole(self, key: Key, node: Node) -> Node:
        """A node with everything below it resolved."""
        self.given += 1
        if len(key) > MAX_DEPTH or self.given > 2 * MAX_SETTINGS:
            raise TooMuch
        if isinstance(node, Setting):
            return self.leaf(key, node)
        return replace(
            node, items={name: self.whole((*key, name), below) for name, below in node.items.items()}
        )

    def leaf(self, key: Key, setting: Setting) -> Node:
        """A value with its references followed; one that leads back to itself is unknown."""
        if not isinstance(setting.value, str) or "${" not in setting.value or not setting.known:
            return setting
        if key in self.done:
            return self.done[key]
        if key in self.busy or len(self.busy) > MAX_DEPTH:
            return replace(setting, known=False)
        self.busy.add(key)
        try:
            found = self.filled(key, setting)
        except _Untold:
            found = replace(setting, known=False)
        self.busy.discard(key)
        self.done[key] = found
        return found

    def filled(self, key: Key, setting: Setting) -> Node:
        """What a text with references becomes: the thing itself where it is one reference, else a text."""
        parts = _parts(str(setting.value))
        if len(parts) == 1 and isinstance(parts[0], _Reference):
            return self.used(self.referred(key, parts[0]), setting)
        through: list[Where] = []
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            node = self.referred(key, part)
            if not isinstance(node, Setting) or not node.known or len(text) > LONGEST:
                raise _Untold
            text += _as_text(node.value)
            through.append(node.where)
        return replace(setting, value=text, plain=False, through=tuple(dict.fromkeys(through)))

    def used(self, node: Node, setting: Setting) -> Node:
        """What a reference leads to, at the place that refers to it."""
        if isinstance(node, Section):
            return node
        through = tuple(dict.fromkeys((node.where, *node.through)))
        value = node.value if node.known else setting.value
        return replace(setting, value=value, plain=False, through=through, known=node.known)

    def referred(self, key: Key, reference: _Reference) -> Node:
        """What stands where a reference leads, itself resolved."""
        text = "".join(self.written(key, part) for part in reference.parts)
        resolver = _RESOLVER.match(text)
        if resolver is not None:
            return self.called(key, resolver[1], text[resolver.end() :])
        target = _absolute(text.strip(), key)
        return self.standing_at(target)

    def standing_at(self, target: Key) -> Node:
        """The node at a key, by way of references that lead to what is above it."""
        node: Node | None = self.tree
        for length, part in enumerate(target):
            if not isinstance(node, Section):
                raise _Untold
            node = node.items.get(part)
            if isinstance(node, Setting) and length < len(target) - 1:
                node = self.leaf(target[: length + 1], node)
        if node is None:
            raise _Untold
        return self.whole(target, node)

    def written(self, key: Key, part: str | _Reference) -> str:
        """A part of a reference as text: `${a.${b}}`."""
        if isinstance(part, str):
            return part
        node = self.referred(key, part)
        if not isinstance(node, Setting) or not node.known:
            raise _Untold
        return _as_text(node.value)

    def called(self, key: Key, resolver: str, arguments: str) -> Node:
        """The resolvers whose result the settings themselves tell."""
        if resolver == "oc.select":
            name, _, default = arguments.partition(",")
            found = at(self.tree, _absolute(name.strip(), key))
            if found is not None:
                return self.standing_at(_absolute(name.strip(), key))
            if default.strip():
                return Setting((), as_written(default.strip().strip("'\"")), Where())
        if resolver == "oc.decode" and arguments.strip():
            return Setting((), as_written(arguments.strip().strip("'\"")), Where())
        raise _Untold


class _Untold(Exception):
    """A reference that cannot be followed."""


@dataclass(frozen=True, slots=True)
class _Reference:
    parts: tuple[str | _Reference, ...]


def _parts(text: str) -> list[str | _Reference]:
    """A text as plain stretches and references."""
    found, end = _scan(text, 0, False, 0)
    if end != len(text):
        raise _Untold
    return found


def _scan(text: str, start: int, inside: bool, depth: int) -> tuple[list[str | _Reference], int]:
    if depth > MAX_DEPTH:
        raise _Untold
    found: list[str | _Reference] = []
    plain, index = "", start
    while index < len(text):
        if text.startswith("\\${", index):
            plain, index = plain + "${", index + 3
        elif text.startswith("${", index):
            parts, index = _scan(text, index + 2, True, depth + 1)
            found += [plain] if plain else []
            plain = ""
            found.append(_Reference(tuple(parts)))
        elif inside and text[index] == "}":
            return [*found, *([plain] if plain else [])], index + 1
        else:
            plain, index = plain + text[index], index + 1
    if inside:
        raise _Untold
    return [*found, *([plain] if plain else [])], index


def _absolute(text: str, key: Key) -> Key:
    """The key that `a.b[0]`, `.sibling` or `..above` means, seen from another key."""
    dots = len(text) - len(text.lstrip("."))
    parts = [index or name for index, name in _PART.findall(text.lstrip("."))]
    named = tuple(int(part) if part.isdigit() else part.strip("'\"") for part in parts)
    if not named and not dots:
        raise _Untold
    return (*key[: max(len(key) - dots, 0)], *named) if dots else named


def _as_text(value: object) -> str:
    return str(value)
