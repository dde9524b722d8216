"""Lint as workflow commands: GitHub shows each finding beside its line of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings import Severity
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.report.clean_text import one_line
from stethoscope.report.lint_words import about_fix, why
from stethoscope.report.relative_path import relative_path

COMMAND = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: LintReport) -> str:
    """One line per finding."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    for one in report.findings:
        fix = about_fix(one)
        message = f"{one_line(one.found.finding.message)}\n{one_line(why(one.rule))}"
        message += f"\nfix: {one_line(fix)}" if fix else ""
        place = ",".join(f"{name}={_value(value)}" for name, value in _place(one, report).items())
        yield f"::{COMMAND[one.severity]} {place}::{_escaped(message)}"


def _place(one: Linted, report: LintReport) -> dict[str, str]:
    place = {
        "title": f"{one.rule.code} {one.rule.name}",
        "file": relative_path(one.where.file, report.root),
        "line": str(one.where.line or 1),
        "col": str(one.where.column or 1),
    }
    if one.where.end is not None:
        place["endLine"] = str(one.where.end[0])
        # GitHub takes columns only where a finding begins and ends on one line.
        if one.where.end[0] == one.where.line:
            place["endColumn"] = str(one.where.end[1])
    return place


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
