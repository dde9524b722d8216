"""The parts of a Markdown text: paragraphs, list items, tables and fenced blocks, each with its lines.

A line reader rather than a parser: what people paste has fences that never close, fences inside fences and
headings in the middle of settings, and every part must keep the numbers of its lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

LONGEST_LINE = 4000  # characters of a line that are looked at
LONGEST_PARAGRAPH = 20_000
FEWEST_PASTED = 3  # lines of settings in a row, without a fence, that are taken for a block
MOST_LINES = 100  # of one paragraph; what is longer is read as several

_FENCE = re.compile(r"^\s{0,12}(?:>\s?)*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*([^`\s]*)[^`]*$")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
# `  learning_rate=3e-5,` and `lr: 1e-4  # lower`; a value of several words is prose.
_SETTING = re.compile(
    r"""^\s*["']?[A-Za-z_][\w.\-]*["']?\s*[:=]\s*(?:["'][^"']*["']|\[[^\]]*\]|[^\s"',]+),?\s*(?:#.*)?$"""
)
_DIFF_HEAD = re.compile(r"^(?:diff --git |Index: |--- \S|@@ -\d)")
_DIFF_LINE = re.compile(r"^(?:[+\- @\\]|diff |index |Index: |$)")
_BREAK = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
# A label on a line of its own begins something: "Change:", "**File:** ...".
_LABEL = re.compile(r"^\s*\*\*[^*]+\*\*\s*:?|^\s*\*\*[^*]+:\*\*")


class PartKind(StrEnum):
    """What a part is."""

    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"
    FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Line:
    """A line and its number in the document, counted from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive lines of one kind.

    `headings` are those above it, the nearest last; `lead` is the text right before it, `info` the language
    that a fence names.
    """

    kind: PartKind
    lines: tuple[Line, ...]
    headings: tuple[str, ...] = ()
    lead: str = ""
    info: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        """A paragraph as one line, each of its lines joined by a space."""
        return " ".join(line.text.strip() for line in self.lines)[:LONGEST_PARAGRAPH]

    def line_at(self, offset: int) -> int:
        """The number of the line that an offset of `text` stands on."""
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line.text.strip()) + 1
        return self.lines[max(0, bisect_right(starts, offset) - 1)].number


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a document in their order."""
    lines = [Line(number, raw[:LONGEST_LINE]) for number, raw in enumerate(text.split("\n"), start=1)]
    return tuple(_numbered(_Parts(lines).read()))


def _numbered(parts: Sequence[Part]) -> Iterator[Part]:
    headings: list[tuple[int, str]] = []
    lead = ""
    for number, part in enumerate(parts, start=1):
        above = tuple(title for _, title in headings)
        yield Part(part.kind, part.lines, above, lead, part.info, number)
        if part.kind is PartKind.HEADING:
            depth = int(part.info)
            headings = [*((d, t) for d, t in headings if d < depth), (depth, part.lines[0].text)]
            lead = ""
        elif part.kind is PartKind.PROSE and not _is_setting(part):
            lead = part.text


def _is_setting(part: Part) -> bool:
    """Whether a part is one line of a block that lost its fence: what leads to it leads to the next too."""
    return len(part.lines) == 1 and _SETTING.match(part.lines[0].text) is not None


class _Parts:
    """The lines that are left to read."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.at = 0

    def read(self) -> list[Part]:
        """Every part, headings with their depth as `info`."""
        found: list[Part] = []
        while self.at < len(self.lines):
            found.extend(self._next())
        return found

    def _next(self) -> list[Part]:
        line = self.lines[self.at]
        fence = _FENCE.match(line.text)
        if fence:
            return self._fence(fence)
        heading = _HEADING.match(line.text)
        if heading:
            self.at += 1
            titled = Line(line.number, heading[2])
            return [Part(PartKind.HEADING, (titled,), info=str(len(heading[1])))]
        if self._is_table():
            return [self._table()]
        pasted = self._diff() or self._pasted()
        if pasted:
            return [pasted]
        if not line.text.strip() or _BREAK.match(line.text):
            self.at += 1
            return []
        return [self._paragraph()]

    def _fence(self, opening: re.Match[str]) -> list[Part]:
        """A fenced block; one that is opened again before it closes ends there.

        A bare fence that meets a named one was the stray end of a broken block: what it held is prose.
        """
        mark, info = opening[1][:3], opening[2].lower()
        begin = self.at = self.at + 1
        while self.at < len(self.lines):
            closing = _FENCE.match(self.lines[self.at].text)
            if closing and closing[1].startswith(mark):
                if closing[2] and not info:
                    self.at = begin
                    return self._until_fence()
                inside = tuple(self.lines[begin : self.at])
                self.at += not closing[2]
                return [Part(PartKind.FENCE, inside, info=info)] if inside else []
            self.at += 1
        inside = tuple(self.lines[begin:])
        return [Part(PartKind.FENCE, inside, info=info)] if inside else []

    def _until_fence(self) -> list[Part]:
        found: list[Part] = []
        while self.at < len(self.lines) and not _FENCE.match(self.lines[self.at].text):
            found.extend(self._next())
        return found

    def _is_table(self) -> bool:
        here = self.lines[self.at].text
        below = self.lines[self.at + 1].text if self.at + 1 < len(self.lines) else ""
        return "|" in here and bool(_RULE.match(below)) and "|" in below

    def _table(self) -> Part:
        begin = self.at
        while self.at < len(self.lines) and "|" in self.lines[self.at].text:
            self.at += 1
        return Part(PartKind.TABLE, tuple(self.lines[begin : self.at]))

    def _diff(self) -> Part | None:
        """A diff that was pasted without a fence: its heads, and what follows as diffs have it."""
        begin = self.at
        heads = [line.text for line in self.lines[begin : begin + FEWEST_PASTED]]
        if not _DIFF_HEAD.match(heads[0]) or not any(one.startswith(("+++ ", "@@ -")) for one in heads):
            return None
        end = begin
        while end < len(self.lines) and _DIFF_LINE.match(self.lines[end].text):
            end += 1
        inside, self.at = tuple(self.lines[begin:end]), end
        return Part(PartKind.FENCE, inside, info="diff")

    def _pasted(self) -> Part | None:
        """Settings that were pasted without a fence: lines that each set one value, several in a row."""
        end = self.at
        while end < len(self.lines) and _SETTING.match(self.lines[end].text):
            end += 1
        if end - self.at < FEWEST_PASTED:
            return None
        inside, self.at = tuple(self.lines[self.at : end]), end
        return Part(PartKind.FENCE, inside)

    def _paragraph(self) -> Part:
        begin = self.at
        self.at += 1
        while self.at < len(self.lines) and self.at - begin < MOST_LINES and self._goes_on():
            self.at += 1
        return Part(PartKind.PROSE, tuple(_unquoted(line) for line in self.lines[begin : self.at]))

    def _goes_on(self) -> bool:
        text = self.lines[self.at].text
        begins = (_ITEM, _FENCE, _HEADING, _BREAK, _LABEL)
        return bool(text.strip()) and not any(one.match(text) for one in begins) and not self._stands_alone()

    def _stands_alone(self) -> bool:
        """Whether a line is one setting, which nobody wraps: `  enabled: false`."""
        return bool(re.match(r"^\s*[`\w.-]+\s*[:=]\s*\S+(?:\s+#.*)?\s*$", self.lines[self.at].text))


def _unquoted(line: Line) -> Line:
    return Line(line.number, _QUOTE.sub("", line.text))


def plain(text: str) -> str:
    """Prose without its markup: list marks, emphasis and links; code keeps its backticks."""
    text = _ITEM.sub("", text, count=1)
    text = re.sub(r"\[([^\]\[]{1,200})\]\([^)\s]{1,500}\)", r"\1", text)
    return re.sub(r"\*\*|__(?=\W|$)|(?<=\W)__", "", text).strip()
