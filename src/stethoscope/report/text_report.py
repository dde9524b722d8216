"""The report for people: what is wrong and how sure that is first, then why, then what to do.

A healthy run takes about a dozen lines. Every claim stands with its address; `verbose` shows all of
them, every finding, and why rules could not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import HEADING
from stethoscope.report.sections import causes, findings, headline, prescription, reading
from stethoscope.report.terminal import ascii_only


def render(diagnosis: Diagnosis, console: Console, *, verbose: bool = False) -> str:
    """The report as this console would show it."""
    return printed(_report(diagnosis, console.width, ascii_only(console), verbose), console)


def _report(diagnosis: Diagnosis, width: int, only_ascii: bool, verbose: bool) -> Iterator[Line]:
    explanation, advised = diagnosis.explanation, diagnosis.prescription
    worth_advice = verbose or diagnosis.verdict is not Verdict.HEALTHY
    yield from headline.verdict(diagnosis)
    yield from headline.curve_of(diagnosis, width, only_ascii)
    yield from _section(causes.heading(explanation), causes.probable(explanation, verbose))
    yield from _section("Found, and explained by no cause", findings.unexplained_ones(explanation, verbose))
    yield from _section("What to change", prescription.edits(advised, verbose))
    yield from _section("What to do", prescription.advice(advised))
    yield from _section("Where to go back to", prescription.checkpoint(advised))
    yield from _section("What the next run should show", prescription.expected(advised))
    yield from _section("Looks alarming, is not", findings.benign(explanation))
    if worth_advice:
        yield from _section("Considered, not recommended", prescription.not_recommended(advised, verbose))
    yield from _section("Considered, unlikely", causes.unlikely(explanation, verbose))
    yield from _section("Noted", findings.notes(diagnosis, verbose))
    if worth_advice:
        yield from _section("Log next time", prescription.to_log(advised))
    yield from _section("Not examined", findings.not_examined(diagnosis, verbose))
    yield from _section("Read", reading.everything(diagnosis.run, verbose))


def _section(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    """A heading above its lines; nothing where there are none."""
    for number, line in enumerate(lines):
        if number == 0:
            yield BLANK
            yield Line(Text(title, style=HEADING))
        yield line
