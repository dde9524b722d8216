"""A table with a column for what is set and one for what is recommended.

| Parameter | Current | Recommended |
|-----------|---------|-------------|
| lr        | 1e-3    | 1e-4        |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.review.claim import Proposal
from stethoscope.review.intent import OLD, around
from stethoscope.review.parts import Part, PartKind, plain
from stethoscope.review.values import value_of
from stethoscope.run import Where

_NAME = re.compile(
    r"(?:hyper-?)?param\w*|settings?|keys?|options?|knobs?|names?|fields?|config\w*|arg(?:ument)?s?|flags?|what|variable|einstellung",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"current\w*|before|old|now|yours?|was|from|original\w*|existing|present|actual|ist|bisher|vorher|baseline|default|mine",
    re.IGNORECASE,
)
_NEW = re.compile(
    r"recommend\w*|after|new|propos\w*|suggest\w*|to|fix(?:ed)?|target|should(?: be)?|change to"
    r"|better|try|empfohlen|neu|soll"
    r"|optimal|ideal|advised?|updated?|corrected|revised|value|set to",
    re.IGNORECASE,
)
_NOT_A_VALUE = re.compile(
    r"^(?:-|–|—|n/?a|same|unchanged|keep|no change|ok|✓|✅|none needed|)$", re.IGNORECASE
)
_LONGEST_VALUE = 60


def read(part: Part) -> Iterator[Proposal]:
    """One proposal for each row whose recommended cell holds a value."""
    if part.kind is not PartKind.TABLE:
        return
    heads = [_bare(cell) for cell in cells(part.lines[0].text)]
    columns = _columns(heads)
    if columns is None or (columns[1] is None and around(part.headings, part.lead) == OLD):
        return
    name_at, old_at, new_at = columns
    for line in part.lines[2:]:
        row = cells(line.text)
        if max(name_at, new_at) >= len(row):
            continue
        name, new = _bare(row[name_at]), _bare(row[new_at])
        old = _bare(row[old_at]) if old_at is not None and old_at < len(row) else ""
        if not name or _NOT_A_VALUE.match(new) or len(new) > _LONGEST_VALUE or new == old:
            continue
        value = _value(new)
        if value:
            yield Proposal(
                line.text.strip(),
                Where(line=line.number),
                (_path(name),),
                value,
                old,
                marked=old_at is not None,
                formal="`" in row[name_at] or bool(re.fullmatch(r"[\w.\-]+", name)),
                block=part.number,
            )


def _columns(heads: list[str]) -> tuple[int, int | None, int] | None:
    """Where the name, the old and the new value stand; None where the table is about something else."""
    old = [n for n, head in enumerate(heads) if _says(_OLD, head)]
    new = [n for n, head in enumerate(heads) if _says(_NEW, head) and n not in old]
    name = [n for n, head in enumerate(heads) if _says(_NAME, head) and n not in (*new, *old)]
    if not new or not (old or name):
        return None
    at = name[0] if name else 0
    strict = [n for n in new if heads[n].lower() not in {"value", "to"}] or new
    return (at, old[0] if old else None, strict[0]) if at != strict[0] else None


def _says(pattern: re.Pattern[str], head: str) -> bool:
    words = re.findall(r"[\w\-/]+", head)
    return len(words) <= 4 and bool(
        pattern.fullmatch(head) or any(pattern.fullmatch(word) for word in words[:2])
    )


def cells(row: str) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _bare(cell: str) -> str:
    return plain(re.sub(r"[❌✅⚠️✓✔✗]", "", cell)).strip("` ").strip()


def _value(cell: str) -> str:
    """The value at the head of a cell: `1e-4 (more stable)` is 1e-4."""
    head = re.split(r"\s+[(\[]|\s+[-–—#]\s+|;\s", cell, maxsplit=1)[0].strip("` ")
    if " " in head and not isinstance(value_of(head), list | int | float):
        return ""
    return head


def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split(".")) if re.fullmatch(r"[\w.\-/]+", name) else (name,)
