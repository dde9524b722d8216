"""Unified diffs, applied: every line that a diff names must be there, though perhaps some lines further."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.errors import StethoscopeError

NOWHERE = "/dev/null"
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together: what is there before, and after. `line` is where, counted from 0."""

    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    ends_file: bool = False  # the last line of `after` has no line end


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a diff does to one file; `old` or `new` is None where the file is made or removed."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]

    @property
    def file(self) -> str:
        """The file that is changed."""
        return self.new or self.old or ""


def parsed(diff: str) -> tuple[FilePatch, ...]:
    """The files that a unified diff changes; raises StethoscopeError where it is none."""
    found = tuple(_files(diff.replace("\r\n", "\n").split("\n")))
    if not found:
        raise StethoscopeError("this is no unified diff: no line begins with --- and the next with +++.")
    return found


def patched(text: str, patch: FilePatch) -> str:
    """The text with every hunk applied; raises StethoscopeError where one does not fit."""
    ends = _LINE_END.findall(text)
    usual = ends[0] if ends else "\n"
    lines = re.split("(?<=\n)|(?<=\r)(?!\n)", text)
    lines = lines[:-1] if lines and not lines[-1] else lines
    moved = 0
    for hunk in patch.hunks:
        bare = [line.rstrip("\r\n") for line in lines]
        at = _place(bare, hunk, hunk.line + moved)
        if at is None:
            shown = next((line.strip() for line in hunk.before if line.strip()), "")
            raise StethoscopeError(
                f"{patch.file}: the patch does not apply at line {hunk.line + 1}: {shown[:80]!r} "
                "and the lines around it are not there."
            )
        # A line that stays keeps its own end, if it has one: only the last of a file may have none.
        ended = {bare[n]: lines[n] for n in range(at, at + len(hunk.before)) if lines[n] != bare[n]}
        after = [ended.get(line, line + usual) for line in hunk.after]
        if after and hunk.ends_file:
            after[-1] = after[-1].rstrip("\r\n")
        lines[at : at + len(hunk.before)] = after
        moved += at - (hunk.line + moved) + len(hunk.after) - len(hunk.before)
    return "".join(lines)


def _files(lines: list[str]) -> Iterator[FilePatch]:
    at = 0
    while at < len(lines) - 1:
        if not (lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")):
            at += 1
            continue
        old, new = _name(lines[at]), _name(lines[at + 1])
        at += 2
        hunks = []
        while at < len(lines) and (found := _HUNK.match(lines[at])):
            hunk, at = _hunk(lines, at + 1, found)
            hunks.append(hunk)
        if not hunks:
            raise StethoscopeError(f"the patch of {new or old} has no hunk behind its names.")
        yield FilePatch(old, new, tuple(hunks))


def _name(line: str) -> str | None:
    name = line[4:].split("\t")[0].strip()
    if name == NOWHERE:
        return None
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunk(lines: list[str], at: int, found: re.Match[str]) -> tuple[Hunk, int]:
    before: list[str] = []
    after: list[str] = []
    ends_file = False
    wanted = int(found[2]) if found[2] is not None else 1
    while at < len(lines):
        mark, text = lines[at][:1], lines[at][1:]
        if mark == "\\":
            ends_file = lines[at - 1][:1] in "+ "
        elif mark in " -+" and mark:
            before += [text] if mark != "+" else []
            after += [text] if mark != "-" else []
        elif not mark and len(before) < wanted:  # an editor may have cut the blank of an empty line
            before.append("")
            after.append("")
        else:
            break
        if lines[at].startswith("--- ") and len(before) > wanted:
            # The next file's name, which looks like a removed line.
            before.pop()
            break
        at += 1
    return Hunk(max(int(found[1]) - (1 if wanted else 0), 0), tuple(before), tuple(after), ends_file), at


def _place(lines: list[str], hunk: Hunk, wanted: int) -> int | None:
    """Where the hunk's lines stand: as near as possible to where the diff says."""
    size = len(hunk.before)
    places = range(len(lines) - size + 1)
    fitting = (at for at in places if lines[at : at + size] == list(hunk.before))
    return min(fitting, key=lambda at: abs(at - wanted), default=None)
