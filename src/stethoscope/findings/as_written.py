"""Findings in the words of the file that they are about, with the names that facts look through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stethoscope.findings.finding import Finding
from stethoscope.program.spelling.passed_on import as_written as written_in
from stethoscope.run import Fix, Program, Source, Splice


def as_written(finding: Finding, program: Program | None) -> Finding:
    """The finding with its message, and what its fix writes, as the source says it."""
    if program is None or not any(
        source.file == place.file for place in finding.places for source in program
    ):
        return finding
    message = finding.message
    for source, first, last in _lines(finding, program):
        message = written_in(message, source.tree, (first, last))
    fix = _fix(finding.fix, program) if finding.fix is not None else None
    if message == finding.message and fix == finding.fix:
        return finding
    return replace(finding, message=message, fix=fix)


def _lines(finding: Finding, program: Program) -> Iterator[tuple[Source, int, int]]:
    for place in finding.places:
        source = next((one for one in program if one.file == place.file), None)
        if source is not None and place.line is not None:
            yield source, place.line, place.end[0] if place.end else place.line


def _fix(fix: Fix, program: Program) -> Fix:
    return replace(fix, splices=tuple(_splice(one, program) for one in fix.splices))


def _splice(splice: Splice, program: Program) -> Splice:
    source = next((one for one in program if one.file == splice.file), None)
    if source is None or not splice.text:
        return splice
    first = source.text.count("\n", 0, splice.start) + 1
    last = first + source.text.count("\n", splice.start, splice.end)
    return replace(splice, text=written_in(splice.text, source.tree, (first, last), only_once=True))
