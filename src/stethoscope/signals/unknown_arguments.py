"""Keywords that the source passes to a framework's constructor, and that it does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.settings.outside_calls import OutsideCall, outside_calls
from stethoscope.recipe.schemas import Record, called
from stethoscope.run import Run, Source, Splice, Where
from stethoscope.signals.missing import Missing
from stethoscope.signals.names_taken import NotTaken, Releases, not_taken, releases_of


@dataclass(frozen=True, slots=True, eq=False)
class UnknownArgument:
    """A keyword that is not taken: by what, where it stands, and what a framework's releases say about it.

    `looked_at` are the first and last release that were looked at. `rename` puts the known name in its
    place, where only one can be meant.
    """

    name: str
    called: str
    where: Where
    verdict: NotTaken
    looked_at: tuple[str, str]
    rename: Splice | None = None


@dataclass(frozen=True, slots=True)
class UnknownArguments:
    """All such keywords, and how many calls were compared."""

    arguments: tuple[UnknownArgument, ...]
    calls: int


def measure(run: Run) -> UnknownArguments | Missing:
    """Compare every keyword of a call whose callee is known here."""
    if run.program is None:
        return Missing("no training source was found with the run; name it by --code")
    known = [(call, record) for call in outside_calls(run.program) if (record := called(call.name))]
    if not known:
        return Missing("the source calls no constructor of a framework known here with keywords")
    releases = releases_of(run)
    found = (one for call, record in known for one in _unknown(call, record, releases))
    return UnknownArguments(tuple(found), len(known))


def _unknown(call: OutsideCall, record: Record, releases: Releases) -> Iterator[UnknownArgument]:
    if call.caught:
        return  # the source itself provides for what is not taken
    given = {name for name, _ in call.keywords()}
    table = record.table
    for name, keyword in call.keywords():
        verdict = not_taken(record, name, releases, beside=given) if name not in call.own else None
        if verdict is not None and not (verdict.history and call.for_some_versions):
            yield UnknownArgument(
                name,
                call.name,
                call.source.where(keyword),
                verdict,
                (table.spoken(table.versions[0]), table.spoken(table.newest)),
                _rename(keyword, verdict.meant.name, call.source) if verdict.meant.clear else None,
            )


def _rename(keyword: ast.keyword, name: str, source: Source) -> Splice | None:
    """The keyword's text replaced by another name."""
    lines = source.text.splitlines(keepends=True)
    line = lines[keyword.lineno - 1]
    column = len(line.encode()[: keyword.col_offset].decode())  # the parser counts bytes
    start = sum(len(one) for one in lines[: keyword.lineno - 1]) + column
    end = start + len(str(keyword.arg))
    return Splice(source.file, start, end, name) if source.text[start:end] == keyword.arg else None
