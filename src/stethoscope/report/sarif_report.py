"""A diagnosis as SARIF 2.1.0: every finding at its file and line, or at the log that shows it.

What is benign keeps its place and is marked as suppressed. A finding's fingerprint does not depend on its
numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from stethoscope.causes.verdict import stands
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, RuleEntry
from stethoscope.report.lint_sarif import FINGERPRINT, LEVEL, SCHEMA, VERSION, location, not_examined, tool
from stethoscope.report.lint_words import why
from stethoscope.report.plain_json import plain
from stethoscope.report.relative_path import relative_path
from stethoscope.run import Where

Json = dict[str, object]


def render(diagnosis: Diagnosis, root: Path | None = None) -> str:
    """The diagnosis as one SARIF log, ended by a newline; paths are those from `root`."""
    described = plain(as_dict(diagnosis, root or Path.cwd()))
    return json.dumps(described, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(diagnosis: Diagnosis, root: Path) -> Json:
    """The log as plain dictionaries and lists."""
    examination = diagnosis.examination
    rules = _rules(diagnosis)
    number = {rule.code: at for at, rule in enumerate(rules)}
    marks = _fingerprints(examination.found, root)
    run: Json = {
        "tool": tool(rules),
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [not_examined(one, number) for one in examination.not_examined],
            }
        ],
        "results": [
            _result(found, mark, number, diagnosis, root)
            for found, mark in zip(examination.found, marks, strict=True)
        ],
        "properties": {"verdict": diagnosis.verdict.value, "run": diagnosis.run.name},
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rules(diagnosis: Diagnosis) -> Sequence[RuleEntry]:
    """The rules that have something to say, in the order of the codes."""
    examination = diagnosis.examination
    asked = [*(found.rule for found in examination.found), *(one.rule for one in examination.not_examined)]
    return sorted({rule.code: rule for rule in asked}.values(), key=lambda rule: rule.code)


def _result(found: Found, mark: str, number: dict[str, int], diagnosis: Diagnosis, root: Path) -> Json:
    finding = found.finding
    first, *others = finding.places or (Where(diagnosis.run.path),)
    result: Json = {
        "ruleId": found.rule.code,
        "ruleIndex": number[found.rule.code],
        "level": LEVEL[found.severity],
        "message": {"text": f"{finding.message}. {why(found.rule)}"},
        "locations": [_location(first, diagnosis, root)],
        "partialFingerprints": {FINGERPRINT: mark},
        "properties": {
            "evidence": finding.evidence,
            "proof": finding.proof,
            "onsetStep": finding.onset,
            "causes": _causes(found, diagnosis),
        },
    }
    if others:
        result["relatedLocations"] = [
            {"id": at, **_location(place, diagnosis, root)} for at, place in enumerate(others, 1)
        ]
    harmless = [one for one in diagnosis.explanation.benign if found in one.explains]
    if harmless:
        result["suppressions"] = [{"kind": "external", "justification": one.why} for one in harmless]
    return result


def _location(place: Where, diagnosis: Diagnosis, root: Path) -> Json:
    """The file; a series and its steps are named beside it."""
    in_file = place if place.file else Where(diagnosis.run.path)
    told = location(in_file, root)
    if place.series is not None:
        told["logicalLocations"] = [
            {"name": place.series, "fullyQualifiedName": str(place), "kind": "series"}
        ]
    return told


def _causes(found: Found, diagnosis: Diagnosis) -> list[str]:
    """The causes that stand and rest on this finding."""
    return [
        cause.name
        for cause in diagnosis.explanation.causes
        if stands(cause) and any(found.finding in argument.findings for argument in cause.arguments_for)
    ]


def _fingerprints(found: Sequence[Found], root: Path) -> list[str]:
    """What a finding is known by from one run of the tool to the next: its rule, file and series."""
    seen: Counter[str] = Counter()
    marks = []
    for one in found:
        place = one.finding.places[0] if one.finding.places else Where()
        said = "\0".join((one.rule.code, relative_path(place.file, root), place.series or ""))
        digest = hashlib.sha256(said.encode("utf-8", errors="replace")).hexdigest()[:32]
        marks.append(f"{digest}:{seen[digest]}")
        seen[digest] += 1
    return marks
