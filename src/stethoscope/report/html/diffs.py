"""A unified diff with its lines coloured, and the words that changed within a line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from stethoscope.report.html.markup import Markup, code_line, element, joined

MOST_LINES = 400
LONGEST_COMPARED = 400  # characters of a line that is compared word by word
ALIKE = 0.4  # two lines that share less are two lines, not one that changed

WORD = re.compile(r"\s+|[\w.]+|.", re.DOTALL)
KINDS = {"+": "added", "-": "removed", "@": "hunk"}


def highlighted(diff: str) -> Markup:
    """The diff as lines of code."""
    lines = diff.splitlines()
    shown = [*_lines(lines[:MOST_LINES])]
    if len(lines) > MOST_LINES:
        shown.append(element("span", f"... {len(lines) - MOST_LINES:,} more lines", class_="hunk"))
    code = element("code", [joined(line, "\n") for line in shown])
    return element("pre", code, class_="diff", tabindex="0")


def _lines(lines: list[str]) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "-")
        added = _run(lines, at + len(removed), "+")
        if removed and len(removed) == len(added):
            pairs = [_pair(old, new) for old, new in zip(removed, added, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
            at += len(removed) + len(added)
            continue
        yield _line(lines[at])
        at += 1


def _run(lines: list[str], at: int, sign: str) -> list[str]:
    """The lines from here on that begin with this sign; a file's name is none of them."""
    end = at
    while end < len(lines) and lines[end].startswith(sign) and not lines[end].startswith(sign * 3 + " "):
        end += 1
    return lines[at:end]


def _line(line: str) -> Markup:
    kind = "file" if line.startswith(("+++ ", "--- ")) else KINDS.get(line[:1], "same")
    return element("span", code_line(line), class_=kind)


def _pair(old: str, new: str) -> tuple[Markup, Markup]:
    """A line before and after, with the words that differ marked."""
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return _line(old), _line(new)
    words, other = WORD.findall(old[1:]), WORD.findall(new[1:])
    matcher = SequenceMatcher(None, words, other, autojunk=False)
    if matcher.ratio() < ALIKE:
        return _line(old), _line(new)
    before, after = [code_line("-")], [code_line("+")]
    for tag, i, j, k, m in matcher.get_opcodes():
        before.append(_piece("".join(words[i:j]), tag != "equal"))
        after.append(_piece("".join(other[k:m]), tag != "equal"))
    return element("span", before, class_="removed"), element("span", after, class_="added")


def _piece(letters: str, changed: bool) -> Markup:
    return element("mark", code_line(letters)) if changed and letters else code_line(letters)
