"""The report for people: what is wrong and how sure that is first, then why, then what to do.

A healthy run takes about a dozen lines. Every claim stands with its address; `verbose` shows all of
them, every finding, and why rules could not look.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import HEADING
from stethoscope.report.sections import causes, findings, headline, plan, prescription, reading
from stethoscope.report.terminal import ascii_only


def render(diagnosis: Diagnosis, console: Console, *, verbose: bool = False) -> str:
    """The report as this console would show it."""
    return printed(_report(diagnosis, console.width, ascii_only(console), verbose), console)


def _report(diagnosis: Diagnosis, width: int, only_ascii: bool, verbose: bool) -> Iterator[Line]:
    yield from headline.verdict(diagnosis)
    yield from headline.curve_of(diagnosis, width, only_ascii)
    for title, lines in _sections(diagnosis, verbose):
        yield from _section(title, lines)
    if not verbose:
        yield BLANK
    for title, lines in _footer(diagnosis, verbose):
        yield from _section(title, lines, apart=verbose)


def _section(title: str, lines: list[Line], apart: bool = True) -> Iterator[Line]:
    """A heading and its lines, on one line where there is only one; nothing where there are none."""
    if lines and apart:
        yield BLANK
    if len(lines) == 1:
        yield Line(Text.assemble((title, HEADING), ": ") + lines[0].text, hang=2)
    elif lines:
        yield Line(Text(title, style=HEADING))
        yield from lines


def _sections(diagnosis: Diagnosis, verbose: bool) -> Iterator[tuple[str, list[Line]]]:
    """The sections in the order of the questions a reader has; empty ones are not shown."""
    explanation, advised = diagnosis.explanation, diagnosis.prescription
    if verbose or diagnosis.verdict is not Verdict.HEALTHY:
        yield causes.heading(explanation), [*causes.probable(explanation, verbose)]
        yield "Found, and explained by no cause", [*findings.unexplained_ones(explanation, verbose)]
        yield "Asked for, and not what happens", [*plan.differences(diagnosis.run)]
        yield "What to change", [*prescription.edits(advised, verbose)]
        yield "What to do", [*prescription.advice(advised)]
        yield "Where to go back to", [*prescription.checkpoint(advised)]
        yield "What the next run should show", [*prescription.expected(advised)]
    yield "Looks alarming, is not", [*findings.benign(explanation)]
    if verbose or diagnosis.verdict is not Verdict.HEALTHY:
        yield "Considered, not recommended", [*prescription.not_recommended(advised, verbose)]
        yield "Considered, unlikely", [*causes.unlikely(explanation, verbose)]
        yield "What would tell most", [*causes.questions(explanation)]
        yield "Log next time", [*prescription.to_log(advised)]
    yield "Every finding" if verbose else "Noted", [*findings.notes(diagnosis, verbose)]


def _footer(diagnosis: Diagnosis, verbose: bool) -> Iterator[tuple[str, list[Line]]]:
    """What the diagnosis rests on."""
    yield "Not examined", [*findings.not_examined(diagnosis, verbose)]
    yield "Read", [*reading.everything(diagnosis.run, verbose)]
    yield "Not read", [*reading.unread(diagnosis.run, verbose)]
