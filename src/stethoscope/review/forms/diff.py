"""A unified diff: lines taken out and lines put in.

-  lr: 0.001
+  lr: 0.0001
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stethoscope.review.claim import Kind, Proposal
from stethoscope.review.parts import Line, Part, PartKind
from stethoscope.review.settings_lines import Written, settings_in
from stethoscope.review.values import same
from stethoscope.run import Where

_DIFFS = frozenset({"diff", "patch", "udiff"})
_FILE = re.compile(r"^\+\+\+ (?:b/)?(\S+)")
_HUNK = re.compile(r"^@@ .* @@")


def read(part: Part) -> Iterator[Proposal]:
    """The settings whose value a diff changes; of source it is the change as such."""
    if part.kind is not PartKind.FENCE or not is_diff(part):
        return
    for file, lines in _files(part.lines):
        is_source = file.endswith((".py", ".cpp", ".cu", ".c"))
        removed, added = _sides(lines, "-", file), _sides(lines, "+", file)
        taken = {one.path: one for one in removed}
        found = False
        for one in added:
            earlier = taken.get(one.path) or next((r for r in removed if r.path[-1] == one.path[-1]), None)
            if earlier is not None and same(earlier.value, one.value):
                continue
            found = True
            yield Proposal(
                one.line,
                Where(line=one.number),
                (one.path,),
                one.value,
                earlier.value if earlier else "",
                marked=True,
                block=part.number,
                syntax="diff",
            )
        if is_source and not found:
            yield from _as_source(part, lines, file)


def is_diff(part: Part) -> bool:
    """Whether a block is a diff, by its name or by its lines."""
    if part.info in _DIFFS:
        return True
    heads = [line.text for line in part.lines]
    return any(_HUNK.match(text) for text in heads) or (
        any(text.startswith("--- ") for text in heads) and any(text.startswith("+++ ") for text in heads)
    )


def _files(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    file, held = "", list[Line]()
    for line in lines:
        named = _FILE.match(line.text)
        if named:
            if held:
                yield file, held
            file, held = named[1], []
        elif not line.text.startswith(("--- ", "diff ", "index ")) and not _HUNK.match(line.text):
            held.append(line)
    if held:
        yield file, held


def _sides(lines: Sequence[Line], sign: str, file: str) -> list[Written]:
    """The settings on one side; lines that stay tell the sections."""
    other = "+" if sign == "-" else "-"
    kept = [line for line in lines if not line.text.startswith(other)]
    signed = {line.number for line in kept if line.text.startswith(sign)}
    text = [Line(line.number, line.text[1:] if line.text[:1] in "+- " else line.text) for line in kept]
    syntax = "python" if file.endswith(".py") else ""
    return [one for one in settings_in(text, syntax) if one.number in signed]


def _as_source(part: Part, lines: Sequence[Line], file: str) -> Iterator[Proposal]:
    added = [line for line in lines if line.text.startswith("+") and line.text[1:].strip()]
    removed = [line.text[1:].strip() for line in lines if line.text.startswith("-")]
    if added:
        yield Proposal(
            added[0].text[1:].strip(),
            Where(line=added[0].number),
            ((file,),),
            "\n".join(line.text[1:].strip() for line in added),
            "\n".join(removed),
            kind=Kind.SOURCE,
            marked=True,
            block=part.number,
        )
