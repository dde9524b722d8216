"""Markdown that GitHub reads one way and Python-Markdown another, written so that both read it alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
INFO = re.compile(r"^(?P<fence> *`{3,}|~{3,})(?P<language>\w+) +(?P<said>.+)$")
ITEM = re.compile(r"^(?P<indent> *)(?P<marker>[-*+]|\d{1,9}\.) +(?=\S)")
FOLDED = '<details markdown="1" data-search-exclude>'
DEEP = 4  # spaces that Python-Markdown wants before what belongs to a list item


def for_python_markdown(markdown: str) -> str:
    """The page with titled code blocks, open <details>, and lists where GitHub sees lists."""
    lines = _lists(markdown.splitlines())
    return "\n".join(_block_titles(lines)).replace("<details>", FOLDED) + "\n"


def outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    """The page with all of it changed but its code blocks."""
    stretches = groupby(_told_apart(markdown.splitlines()), key=itemgetter(1))
    texts = ((fenced, "\n".join(line for line, _ in lines)) for fenced, lines in stretches)
    return "\n".join(text if fenced else change(text) for fenced, text in texts)


def linked(markdown: str) -> list[str]:
    """Where the links and pictures of a page lead."""
    text = "\n".join(line for line, fenced in _told_apart(markdown.splitlines()) if not fenced)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def promoted(markdown: str, by: int) -> str:
    """The text with its headings that much higher; code blocks stay as they are."""
    return outside_fences(markdown, lambda text: re.sub(rf"(?m)^#{{{by}}}(?=#)", "", text))


def _told_apart(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is part of a code block."""
    opened = ""
    for line in lines:
        found = FENCE.match(line)
        if not opened and found:
            opened = found[1]
            yield line, True
        elif opened:
            closes = found and found[1].startswith(opened) and line.strip() == found[1]
            opened = "" if closes else opened
            yield line, True
        else:
            yield line, False


def _block_titles(lines: list[str]) -> Iterator[str]:
    """What stands behind a block's language is its title: the file that it is, or that it writes."""
    opened = False
    for line, fenced in _told_apart(lines):
        found = INFO.match(line) if fenced and not opened else None
        if found:
            said = found["said"].replace('"', "'")
            title = f"writes {said[1:].strip()}" if said.startswith(">") else said
            line = f'{found["fence"]}{found["language"]} title="{title}"'
        opened = fenced
        yield line


def _lists(lines: list[str]) -> Iterator[str]:
    """Lists that may follow a paragraph at once, with what belongs to an item four spaces deep."""
    inside: list[int] = []  # the columns at which the text of the items we are in begins
    before = ""
    for line, fenced in _told_apart(lines):
        indent = len(line) - len(line.lstrip())
        item = None if fenced else ITEM.match(line)
        if line.strip():
            inside = _still_inside(inside, indent, goes_on=not (item or fenced) and bool(before.strip()))
        if item and not inside and _is_paragraph(before) and item["marker"] in ("-", "*", "+", "1."):
            yield ""
        deep = DEEP * len(inside) + max(indent - inside[-1], 0) if inside and line.strip() else 0
        yield " " * deep + line.lstrip() if deep else line
        if item:
            inside.append(item.end())
        before = line


def _still_inside(inside: list[int], indent: int, goes_on: bool) -> list[int]:
    """The items that a line belongs to: those whose text it is as deep as, or all if it goes on with it."""
    return inside if goes_on else [column for column in inside if indent >= column]


def _is_paragraph(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#", "<", "  ", "|")) and not ITEM.match(line)
