"""A comparison for programs: schema 1."""

from __future__ import annotations

import json

from stethoscope import __version__
from stethoscope.compare.comparison import (
    CodeDifference,
    Comparison,
    EnvironmentDifference,
    SettingDifference,
    Signal,
    Suspect,
)
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found
from stethoscope.report import compare_words as words
from stethoscope.report.plain_json import plain
from stethoscope.report.where_json import where_json
from stethoscope.run import Where

SCHEMA = 1

Json = dict[str, object]


def render(compared: Comparison) -> str:
    """The comparison as one JSON object, ended by a newline."""
    return json.dumps(plain(as_dict(compared)), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(compared: Comparison) -> Json:
    """The comparison as plain dictionaries."""
    signals, first = compared.signals, compared.signals.first
    return {
        "schema": SCHEMA,
        "version": __version__,
        "good": [_run(one) for one in compared.goods],
        "bad": _run(compared.bad),
        "summary": [words.headline(compared), words.verdict_on_differences(compared)],
        "part": compared.parts,
        "parts_at": first.part.step if first and first.part else None,
        "first_signal": first.name if first else None,
        "identical": signals.identical,
        "identical_until": signals.identical_until,
        "steps": {"first": signals.steps[0], "last": signals.steps[1]} if signals.steps else None,
        "signals": [_signal(one) for one in signals.compared],
        "not_compared": [{"signal": name, "why": why} for name, why in signals.left_out],
        "suspects": [_suspect(one) for one in compared.suspects],
        "only_difference": compared.only_one.what if compared.only_one else None,
        "settings": {
            "changed": [_setting(one) for one in compared.settings.relevant],
            "folded": [_setting(one) for one in compared.settings.folded],
            "same": compared.settings.same,
            "unknown": compared.settings.unknown or None,
        },
        "code": {
            "changed": [_code(one) for one in compared.code.changed],
            "files": compared.code.files,
            "reformatted": compared.code.reformatted,
            "note": compared.code.note or None,
            "unknown": compared.code.unknown or None,
        },
        "environment": {
            "changed": [_environment(one) for one in compared.environment.changed],
            "one_sided": [_environment(one) for one in compared.environment.one_sided],
            "same": compared.environment.same,
        },
        "findings": {
            "only_bad": [_finding(one) for one in compared.findings.only_bad],
            "only_good": [_finding(one) for one in compared.findings.only_good],
            "both": [_finding(one) for one in compared.findings.both],
        },
    }


def _run(diagnosis: Diagnosis) -> Json:
    run = diagnosis.run
    return {
        "path": run.path,
        "name": run.name,
        "verdict": diagnosis.verdict.value,
        "steps": {"first": run.steps[0], "last": run.steps[1]} if run.steps else None,
        "causes": [
            {"name": cause.name, "probability": round(float(cause.probability), 4)}
            for cause in diagnosis.explanation.causes
            if cause.stands
        ],
    }


def _signal(one: Signal) -> Json:
    part = one.part
    return {
        "name": one.name,
        "points": one.points,
        "steps": {"first": one.steps[0], "last": one.steps[1]},
        "equal_until": one.equal_until,
        "part": {
            "how": part.how.value,
            "step": part.step,
            "sure": part.sure,
            "higher": part.higher,
            "good": part.good,
            "bad": part.bad,
        }
        if part
        else None,
        "where": {"good": _where(one.where[0]), "bad": _where(one.where[1])},
    }


def _setting(one: SettingDifference) -> Json:
    return {
        "key": one.key,
        "good": one.good,
        "bad": one.bad,
        "quantity": one.quantity or None,
        "in_effect": {"good": one.good_effect or None, "bad": one.bad_effect or None},
        "cannot_act": one.idle or None,
        "acts_from": one.acts_from,
        "where": {"good": _where(one.good_where), "bad": _where(one.bad_where)},
    }


def _code(one: CodeDifference) -> Json:
    return {
        "name": one.name,
        "what": one.what,
        "diff": one.diff,
        "measures_only": one.measures_only,
        "where": {"good": _where(one.good_where), "bad": _where(one.bad_where)},
    }


def _environment(one: EnvironmentDifference) -> Json:
    where = {"good": _where(one.good_where), "bad": _where(one.bad_where)}
    return {"what": one.what, "good": one.good, "bad": one.bad, "where": where}


def _suspect(one: Suspect) -> Json:
    return {
        "what": one.what,
        "kind": one.kind,
        "can_act": one.can_act,
        "why": list(one.why),
        "where": [_where(place) for place in one.where],
    }


def _finding(one: Found) -> Json:
    return {
        "code": one.rule.code,
        "name": one.rule.name,
        "severity": one.severity.value,
        "message": one.finding.message,
        "where": [_where(place) for place in one.finding.places],
    }


def _where(place: Where | None) -> Json | None:
    return where_json(place) if place is not None else None
