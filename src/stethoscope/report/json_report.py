"""The report for programs: schema 1, described by schema-1.json beside this file.

Published names stay; others may be added. The text is strict JSON: a value that is not finite is
written as the string "nan", "inf" or "-inf".
"""

from __future__ import annotations

import json
from importlib.resources import files

from stethoscope import __version__
from stethoscope.causes import Argument, BenignExplanation, Question, RankedCause, speaks_against
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, NotExamined
from stethoscope.prescription import CheckpointAdvice, Edit, NotRecommended, Prescription
from stethoscope.report.plain_json import plain
from stethoscope.report.unexplained import (
    CONFIRM_UNKNOWN,
    UNKNOWN,
    UNKNOWN_TITLE,
    rank_of_unknown,
    unexplained,
)
from stethoscope.report.where_json import places_json, where_json
from stethoscope.run import Checkpoint, Log, Run
from stethoscope.signals.ending import Ending

Json = dict[str, object]

SCHEMA = 1
PROBABILITY_DIGITS = 4


def render(diagnosis: Diagnosis) -> str:
    """The report as one JSON object, ended by a newline."""
    return json.dumps(as_dict(diagnosis), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(diagnosis: Diagnosis) -> Json:
    """The report as plain dictionaries, lists, strings and finite numbers."""
    explanation = diagnosis.explanation
    report = {
        "schema": SCHEMA,
        "version": __version__,
        "run": _run(diagnosis.run, diagnosis.ending),
        "verdict": diagnosis.verdict.value,
        "findings": [_finding(found) for found in diagnosis.examination.found],
        "not_examined": [_not_examined(rule) for rule in diagnosis.examination.not_examined],
        "causes": _causes(diagnosis),
        "candidates": {"healthy": _chance(explanation.healthy), "unknown": _chance(explanation.unknown)},
        "benign": [_benign(benign) for benign in explanation.benign],
        "ask": [_question(question) for question in explanation.ask],
        "prescription": _prescription(diagnosis.prescription),
    }
    return {name: plain(value) for name, value in report.items()}


def schema() -> Json:
    """The JSON Schema of the report."""
    text = files("stethoscope.report").joinpath("schema-1.json").read_text(encoding="utf-8")
    described: Json = json.loads(text)
    return described


def _run(run: Run, ending: Ending) -> Json:
    return {
        "path": run.path,
        "name": run.name,
        "logs": [_log(log) for log in run.logs],
        "configs": [config.file for config in run.recipe.files] if run.recipe else [],
        "programs": [source.file for source in run.program] if run.program else [],
        "sources": _sources(run),
        "steps": {"first": run.steps[0], "last": run.steps[1]} if run.steps else None,
        "segments": [{"first": part.first, "last": part.last, "file": part.file} for part in run.segments],
        "ended": {
            "how": ending.how,
            "why": ending.why,
            "where": where_json(ending.where) if ending.where else None,
        },
        "checkpoints": [_checkpoint(checkpoint) for checkpoint in run.checkpoints],
        "unread": [{"file": unread.file, "reason": unread.reason} for unread in run.unread],
        "notes": list(run.notes),
    }


def _log(log: Log) -> Json:
    names = list(dict.fromkeys(series.name for series in log.series))
    return {
        "path": log.file,
        "format": log.format,
        "series": names,
        "points": log.points,
        "notes": list(log.notes),
    }


def _sources(run: Run) -> list[Json]:
    """Where the settings and the code came from, and whether they changed after the run began."""
    settings = [
        _source(config.file, "settings", config.origin, config.maintained, config.changed_after_start)
        for config in (run.recipe.files if run.recipe else ())
    ]
    if run.program is None:
        return settings
    program = run.program
    code = _source(program.root, "code", program.origin, program.maintained, program.changed_after_start)
    return [*settings, code]


def _source(path: str, kind: str, origin: str, maintained: bool, changed: bool | None) -> Json:
    return {
        "path": path,
        "kind": kind,
        "origin": origin,
        "maintained": maintained,
        "changed_after_start": changed,
    }


def _checkpoint(checkpoint: Checkpoint) -> Json:
    return {
        "path": checkpoint.file,
        "step": checkpoint.step,
        "holds": checkpoint.holds.value,
        "readable": checkpoint.readable,
        "note": checkpoint.note,
    }


def _finding(found: Found) -> Json:
    finding = found.finding
    return {
        "code": found.rule.code,
        "name": found.rule.name,
        "family": found.rule.family,
        "severity": found.severity.value,
        "message": finding.message,
        "where": places_json(finding.places),
        "evidence": finding.evidence,
        "onset_step": finding.onset,
        "proof": finding.proof,
    }


def _not_examined(skipped: NotExamined) -> Json:
    rule, missing = skipped.rule, skipped.missing
    return {"code": rule.code, "name": rule.name, "missing": missing.why, "log_this": missing.log_this}


def _causes(diagnosis: Diagnosis) -> list[Json]:
    """The ranked causes, with "unknown" among them where findings are left over."""
    explanation = diagnosis.explanation
    causes = [_cause(cause) for cause in explanation.causes]
    left = unexplained(explanation)
    if left:
        causes.insert(rank_of_unknown(explanation), _unknown(explanation.unknown, left))
    return causes


def _cause(cause: RankedCause) -> Json:
    return {
        "name": cause.name,
        "title": cause.entry.cause.title,
        "probability": _chance(cause.probability),
        "verdict": cause.standing.value,
        "evidence_for": [_argument(argument) for argument in cause.arguments_for],
        "evidence_against": [_argument(argument) for argument in cause.arguments_against],
        "onset_step": cause.onset,
        "where": places_json(cause.where),
        "confirm_by": cause.entry.cause.confirm_by,
        "refuted_if": speaks_against(cause),
        "consequence_of": cause.consequence_of,
    }


def _unknown(probability: float, left: tuple[Found, ...]) -> Json:
    onsets = [found.finding.onset for found in left if found.finding.onset is not None]
    return {
        "name": UNKNOWN,
        "title": UNKNOWN_TITLE,
        "probability": _chance(probability),
        "verdict": "plausible",
        "evidence_for": [
            {
                "reason": "no cause known here accounts for this finding",
                "rule": found.rule.name,
                "weight": None,
                "where": places_json(found.finding.places),
                "message": found.finding.message,
            }
            for found in left
        ],
        "evidence_against": [],
        "onset_step": min(onsets, default=None),
        "where": places_json(place for found in left for place in found.finding.places),
        "confirm_by": CONFIRM_UNKNOWN,
        "refuted_if": None,
        "consequence_of": None,
    }


def _argument(argument: Argument) -> Json:
    return {
        "reason": argument.reason,
        "rule": argument.rule,
        "weight": round(argument.weight, PROBABILITY_DIGITS),
        "where": places_json(argument.where),
        "message": argument.finding.message if argument.finding else None,
    }


def _question(question: Question) -> Json:
    return {
        "means": question.means.value,
        "what": question.what,
        "decides": question.decides,
        "bits": round(question.bits, PROBABILITY_DIGITS),
    }


def _benign(benign: BenignExplanation) -> Json:
    return {
        "name": benign.entry.name,
        "title": benign.entry.cause.title,
        "probability": _chance(benign.probability),
        "explains": list(dict.fromkeys(found.rule.name for found in benign.explains)),
        "why": benign.why,
    }


def _prescription(prescription: Prescription) -> Json:
    return {
        "checkpoint": _advised(prescription.checkpoint) if prescription.checkpoint else None,
        "checkpoint_note": prescription.checkpoint_note,
        "edits": [_edit(edit) for edit in prescription.edits],
        "advice": prescription.advice,
        "expect": prescription.expect,
        "log_next_time": prescription.log_next_time,
        "not_recommended": [_not_recommended(considered) for considered in prescription.not_recommended],
    }


def _advised(checkpoint: CheckpointAdvice) -> Json:
    return {
        "path": checkpoint.path,
        "step": checkpoint.step,
        "why": checkpoint.why,
        "loses": checkpoint.loses,
    }


def _edit(edit: Edit) -> Json:
    return {
        "remedy": edit.remedy,
        "cures": edit.cures,
        "file": edit.file,
        "kind": edit.kind,
        "level": edit.level.value,
        "proof": edit.proof,
        "maintained": edit.maintained,
        "diff": edit.diff,
    }


def _not_recommended(considered: NotRecommended) -> Json:
    return {"what": considered.what, "why": considered.why, "where": places_json(considered.where)}


def _chance(probability: float) -> float:
    return round(float(probability), PROBABILITY_DIGITS)
