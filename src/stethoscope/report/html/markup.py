"""HTML by construction: every text is escaped as it goes in, and only `Markup` is taken for HTML.

>>> str(element("p", "a < b", id="first"))
'<p id="first">a &lt; b</p>'
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from stethoscope.report.clean_text import one_line, shortened, visible
from stethoscope.report.plain_json import plain

LONGEST_CODE_LINE = 500  # characters
TAB = 8
VOID = frozenset({"meta", "br", "hr", "link", "wbr"})


@dataclass(frozen=True, slots=True)
class Markup:
    """Text that is HTML already. Made by the functions here, and from files of this package."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


Child: TypeAlias = "Markup | str | None"
Attribute: TypeAlias = "str | int | bool | None"

NOTHING = Markup("")


def element(name: str, /, *children: Child | Iterable[Child], **attributes: Attribute) -> Markup:
    """An element; strings among its children are shown as they are.

    `class_` stands for class and `data_chart` for data-chart. An attribute that is None or False is left out.
    """
    opened = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in VOID:
        return Markup(opened)
    return Markup(f"{opened}{joined(*children)}</{name}>")


def joined(*children: Child | Iterable[Child]) -> Markup:
    """Several pieces one after the other."""
    return Markup("".join(_inner(child) for child in children))


def text(said: object) -> Markup:
    """Words on one line, with what could act, reorder or hide written as an escape."""
    return Markup(escape(_decodable(one_line(said)), quote=True))


def code_line(line: str) -> Markup:
    """A line of source, its spaces kept."""
    return Markup(escape(_decodable(visible(shortened(line.expandtabs(TAB), LONGEST_CODE_LINE))), quote=True))


def link(target: str, *children: Child, **attributes: Attribute) -> Markup:
    """A link to another part of the page."""
    return element("a", *children, href=f"#{target}", **attributes)


def data_block(identifier: str, data: object) -> Markup:
    """Numbers and words for the script, which no text can end or turn into markup."""
    written = json.dumps(plain(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    inert = written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(f'<script type="application/json" id="{identifier}">{inert}</script>')


def _inner(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child.text
    if isinstance(child, str):
        return _words(child)
    return "".join(_inner(one) for one in child)


def _words(said: str) -> str:
    """The words, with a space where they begin or end with one: they stay apart from what is beside."""
    if not said.strip():
        return said
    before, after = (" " if edge.isspace() else "" for edge in (said[0], said[-1]))
    return f"{before}{text(said)}{after}"


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(value)}"'


def _decodable(said: str) -> str:
    return said.encode("utf-8", errors="replace").decode("utf-8")
