"""Lint as SARIF 2.1.0, the format that code scanning and editors read.

Paths are relative to the project's root, columns count Unicode characters, and a finding's fingerprint does
not change when lines are added above it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from stethoscope import __version__
from stethoscope.findings import NotExamined, RuleEntry, Severity
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.report.lint_words import about_fix, why
from stethoscope.report.plain_json import plain
from stethoscope.report.relative_path import relative_path
from stethoscope.report.text_position import position
from stethoscope.run import Splice, Unread, Where

Json = dict[str, object]

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "stethoscopeFinding/v1"
LEVEL = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(report: LintReport) -> str:
    """The report as one SARIF log, ended by a newline."""
    return json.dumps(plain(as_dict(report)), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(report: LintReport) -> Json:
    """The log as plain dictionaries and lists."""
    rules = _rules(report)
    number = {rule.code: at for at, rule in enumerate(rules)}
    marks = _fingerprints(report)
    run: Json = {
        "tool": tool(rules),
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, number)],
        "results": [
            _result(one, mark, number, report) for one, mark in zip(report.findings, marks, strict=True)
        ],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def tool(rules: Sequence[RuleEntry]) -> Json:
    """Stethoscope as SARIF knows a tool, with the rules that were asked."""
    return {
        "driver": {
            "name": "Stethoscope",
            "version": __version__,
            "semanticVersion": __version__,
            "rules": [_rule(rule) for rule in rules],
        }
    }


def _rules(report: LintReport) -> Sequence[RuleEntry]:
    """Every rule that was asked to look, in the order of the codes."""
    asked = [
        *(one.rule for one in report.findings),
        *report.clear,
        *(one.rule for one in report.not_examined),
    ]
    return sorted({rule.code: rule for rule in asked}.values(), key=lambda rule: rule.code)


def _rule(rule: RuleEntry) -> Json:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": why(rule)},
        "help": {"text": _without_markup(rule.page), "markdown": rule.page},
        "defaultConfiguration": {"level": LEVEL[rule.severity]},
        "properties": {
            "tags": list(dict.fromkeys((rule.family, rule.subject.value))),
            "problem.severity": _severity(rule),
        },
    }


def _severity(rule: RuleEntry) -> str:
    return {"error": "error", "warning": "warning", "note": "recommendation"}[LEVEL[rule.severity]]


def _without_markup(page: str) -> str:
    return re.sub(r"^#+ ", "", page, flags=re.MULTILINE).replace("`", "")


def _invocation(report: LintReport, number: dict[str, int]) -> Json:
    """That the examination was made, and what it could not look at."""
    return {
        "executionSuccessful": not report.unread_named,
        "toolExecutionNotifications": [
            *(_unread(one, report) for one in report.unread),
            *(not_examined(one, number) for one in report.not_examined),
        ],
    }


def _unread(one: Unread, report: LintReport) -> Json:
    return {
        "level": "warning",
        "message": {"text": f"{one.file} could not be read: {one.reason}"},
        "locations": [{"physicalLocation": {"artifactLocation": artifact(one.file, report.root)}}],
    }


def not_examined(one: NotExamined, number: dict[str, int]) -> Json:
    """That a rule could not look, and why."""
    return {
        "level": "note",
        "message": {"text": f"{one.rule.code} {one.rule.name} was not examined: {one.missing.why}"},
        "associatedRule": {"id": one.rule.code, "index": number[one.rule.code]},
    }


def _result(one: Linted, mark: str, number: dict[str, int], report: LintReport) -> Json:
    fix = about_fix(one)
    message = f"{one.found.finding.message}. {why(one.rule)}" + (f" Fix: {fix}." if fix else "")
    result: Json = {
        "ruleId": one.rule.code,
        "ruleIndex": number[one.rule.code],
        "level": LEVEL[one.severity],
        "message": {"text": message},
        "locations": [location(one.where, report.root)],
        "partialFingerprints": {FINGERPRINT: mark},
        "properties": {"evidence": one.found.finding.evidence, "proof": one.found.finding.proof},
    }
    if one.also:
        result["relatedLocations"] = [
            {"id": at, **location(place, report.root)} for at, place in enumerate(one.also, 1)
        ]
    if one.fix is not None and one.fix.splices and not one.keeps:
        result["fixes"] = [_fix(one.fix.title, one.fix.splices, report)]
    return result


def location(place: Where, root: Path) -> Json:
    """A place in a file."""
    physical: Json = {"artifactLocation": artifact(place.file, root)}
    if place.line is not None:
        region: Json = {"startLine": place.line}
        if place.column is not None:
            region["startColumn"] = place.column
            if place.end is not None:
                region |= {"endLine": place.end[0], "endColumn": place.end[1]}
        physical["region"] = region
    return {"physicalLocation": physical}


def artifact(file: str, root: Path) -> Json:
    """A file as SARIF names it: from the project's root, or whole where it lies elsewhere."""
    name = relative_path(file, root)
    if os.path.isabs(name):
        return {"uri": f"file://{quote(os.fsencode(name))}"}
    return {"uri": quote(os.fsencode(name)), "uriBaseId": ROOT}


def _fix(title: str, splices: Iterable[Splice], report: LintReport) -> Json:
    by_file: dict[str, list[Splice]] = {}
    for splice in splices:
        by_file.setdefault(splice.file, []).append(splice)
    changes = [
        {
            "artifactLocation": artifact(file, report.root),
            "replacements": [_replacement(splice, report.texts[file]) for splice in own],
        }
        for file, own in by_file.items()
    ]
    return {"description": {"text": title}, "artifactChanges": changes}


def _replacement(splice: Splice, text: str) -> Json:
    start, end = position(text, splice.start), position(text, splice.end)
    region = {"startLine": start[0], "startColumn": start[1], "endLine": end[0], "endColumn": end[1]}
    return {"deletedRegion": region, "insertedContent": {"text": splice.text}}


def _fingerprints(report: LintReport) -> list[str]:
    """What a finding is known by from one version of a file to the next: its rule, file and line's text."""
    seen: Counter[str] = Counter()
    marks = []
    for one in report.findings:
        place = relative_path(one.where.file, report.root)
        said = "\0".join((one.rule.code, place, " ".join(one.line.split())))
        digest = hashlib.sha256(said.encode("utf-8", errors="replace")).hexdigest()[:32]
        marks.append(f"{digest}:{seen[digest]}")
        seen[digest] += 1
    return marks
