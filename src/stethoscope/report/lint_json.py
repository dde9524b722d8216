"""Lint for programs: schema 1 of its own, described by schema-lint-1.json beside this file."""

from __future__ import annotations

import json
from importlib.resources import files

from stethoscope import __version__
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.report.plain_json import plain
from stethoscope.report.text_position import position
from stethoscope.run import Splice, Where

Json = dict[str, object]

SCHEMA = 1


def render(report: LintReport) -> str:
    """The report as one JSON object, ended by a newline."""
    return json.dumps(as_dict(report), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(report: LintReport) -> Json:
    """The report as plain dictionaries, lists, strings and finite numbers."""
    told: Json = {
        "schema": SCHEMA,
        "version": __version__,
        "paths": report.paths,
        "findings": [_finding(one, report) for one in report.findings],
        "not_examined": [
            {
                "code": one.rule.code,
                "name": one.rule.name,
                "missing": one.missing.why,
                "log_this": one.missing.log_this,
            }
            for one in report.not_examined
        ],
        "clear": [{"code": rule.code, "name": rule.name} for rule in report.clear],
        "files": report.files,
        "lines": report.lines,
        "ignored": report.ignored,
        "unread": [{"file": one.file, "reason": one.reason} for one in report.unread],
        "left_out": [{"file": one.file, "reason": one.reason} for one in report.passed],
        "problems": [{"where": _where(where), "message": said} for where, said in report.problems],
    }
    return {name: plain(value) for name, value in told.items()}


def schema() -> Json:
    """The JSON Schema of the report."""
    text = files("stethoscope.report").joinpath("schema-lint-1.json").read_text(encoding="utf-8")
    described: Json = json.loads(text)
    return described


def _finding(one: Linted, report: LintReport) -> Json:
    finding = one.found.finding
    return {
        "code": one.rule.code,
        "name": one.rule.name,
        "family": one.rule.family,
        "severity": one.severity.value,
        "message": finding.message,
        "where": [_where(place) for place in (one.where, *one.also)],
        "evidence": finding.evidence,
        "proof": finding.proof,
        "fix": _fix(one, report),
    }


def _fix(one: Linted, report: LintReport) -> Json | None:
    if one.fix is None:
        return None
    return {
        "title": one.fix.title,
        "level": one.fix.level.value,
        "kept_back": one.keeps,
        "edits": [_edit(splice, report) for splice in one.fix.splices if splice.file in report.texts],
    }


def _edit(splice: Splice, report: LintReport) -> Json:
    text = report.texts[splice.file]
    start, end = position(text, splice.start), position(text, splice.end)
    return {
        "file": splice.file,
        "start": {"line": start[0], "column": start[1]},
        "end": {"line": end[0], "column": end[1]},
        "text": splice.text,
    }


def _where(place: Where) -> Json:
    """An address, without the parts it does not have."""
    address: Json = {"file": place.file}
    if place.line is not None:
        address["line"] = place.line
    if place.column is not None:
        address["column"] = place.column
    if place.end is not None:
        address["end"] = {"line": place.end[0], "column": place.end[1]}
    return address
