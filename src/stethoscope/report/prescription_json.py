"""A prescription for programs: schema 1. Published names stay; others may be added."""

from __future__ import annotations

import json

from stethoscope import __version__
from stethoscope.diagnose import Diagnosis
from stethoscope.prescription.applying.journal import Journal
from stethoscope.prescription.applying.plan import Plan
from stethoscope.prescription.cost import Cost
from stethoscope.prescription.course import Course, Option
from stethoscope.prescription.ladder import Rung
from stethoscope.prescription.remedy import Edit
from stethoscope.prescription.resuming import Resume
from stethoscope.report import json_report
from stethoscope.report.plain_json import plain
from stethoscope.report.where_json import places_json

Json = dict[str, object]

SCHEMA = 1
DIGITS = 4


def render(diagnosis: Diagnosis, course: Course, plan: Plan, written: Json | None = None) -> str:
    """The prescription as one JSON object, ended by a newline; `written` says what was written, and where."""
    told = as_dict(diagnosis, course, plan, written)
    return json.dumps(told, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(diagnosis: Diagnosis, course: Course, plan: Plan, written: Json | None = None) -> Json:
    """The prescription as plain dictionaries, lists, strings and finite numbers."""
    prescribed = json_report.as_dict(diagnosis)["prescription"]
    assert isinstance(prescribed, dict)
    told = {
        "schema": SCHEMA,
        "version": __version__,
        "run": {"path": diagnosis.run.path, "name": diagnosis.run.name},
        "verdict": diagnosis.verdict.value,
        **prescribed,
        "edits": _edits(plan),
        "options": [_option(option) for option in course.options],
        "resume": _resume(course.resume) if course.resume else None,
        "ladder": [_rung(rung) for rung in course.ladder],
        "written": written,
    }
    return {name: plain(value) for name, value in told.items()}


def written_dict(journal: Journal) -> Json:
    """What was written, or put back, and where the contents from before are kept."""
    return {
        "journal": str(journal.folder),
        "when": journal.when,
        "files": [kept.file for kept in journal.files],
        "remedies": journal.remedies,
    }


def _edits(plan: Plan) -> list[Json]:
    return [
        *(_edit(edit, True, None, "") for edit in plan.made),
        *(_edit(left.edit, False, left.reason.value, left.why) for left in plan.left),
    ]


def _edit(edit: Edit, applies: bool, reason: str | None, why: str) -> Json:
    return {
        "remedy": edit.remedy,
        "cures": edit.cures,
        "file": edit.file,
        "kind": edit.kind,
        "level": edit.level.value,
        "proof": edit.proof,
        "maintained": edit.maintained,
        "diff": edit.diff,
        "applies": applies,
        "left_because": reason,
        "why": why,
    }


def _option(option: Option) -> Json:
    return {
        "name": option.name,
        "title": option.title,
        "open": option.is_open,
        "why_not": option.why_not,
        "cost": _cost(option.cost) if option.is_open else None,
        "effect": option.effect,
        "proof": option.proof,
        "where": places_json(option.where),
    }


def _resume(resume: Resume) -> Json:
    return {
        "command": resume.command,
        "first": resume.first,
        "how": resume.how,
        "where": places_json(resume.where),
        "loses": resume.loses,
    }


def _rung(rung: Rung) -> Json:
    return {
        "means": rung.means.value,
        "what": rung.what,
        "decides": rung.decides,
        "probability": round(rung.probability, DIGITS),
        "cost": _cost(rung.cost) if rung.cost else None,
        "if_so": rung.if_so,
        "if_not": rung.if_not,
        "where": places_json(rung.where),
    }


def _cost(cost: Cost) -> Json:
    share = round(cost.share, DIGITS) if cost.share is not None else None
    hours = round(cost.hours, DIGITS) if cost.hours is not None else None
    return {"steps": cost.steps, "unit": cost.unit, "share": share, "hours": hours}
