"""What changes, for programs: one JSON object on a line (schema 1).

    waiting   there is nothing to judge, and why
    state     step, verdict, findings ... whenever the verdict, a finding, a cause or the end changes
    alert     why: found | worse | back | clear
    problem   what hinders the watching itself
    end       the last state, with the exit status

The word is the value of `kind`. Published names stay; others may be added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from stethoscope.findings import Found
from stethoscope.report.plain_json import plain
from stethoscope.report.where_json import where_json
from stethoscope.watching.alerts import GUARD, Alert, Sighting
from stethoscope.watching.state import State

Json = dict[str, object]

SCHEMA = 1
DIGITS = 4


def line(thing: Json) -> str:
    """One object, strict JSON, ended by a newline."""
    return json.dumps(plain(thing), ensure_ascii=False, allow_nan=False) + "\n"


def of_state(state: State, now: float, kind: str = "state") -> Json:
    """The run as far as it is known."""
    beat, diagnosis = state.beat, state.diagnosis
    known: Json = _begun(kind, state, now)
    if diagnosis is None:
        return {**known, "verdict": None, "waiting": state.waiting}
    explanation = diagnosis.explanation
    return {
        **known,
        "step": beat.step,
        "total_steps": beat.total,
        "axis": beat.axis,
        "steps_per_second": None if beat.rate is None else float(f"{beat.rate:.4g}"),
        "silent_s": None if beat.silent is None else round(beat.silent, 1),
        "stalled": beat.stalled,
        "ended": {"how": diagnosis.ending.how, "why": diagnosis.ending.why},
        "verdict": diagnosis.verdict.value,
        "healthy": round(explanation.healthy, DIGITS),
        "signals": [
            {"name": s.name, "last": s.last, "step": s.last_step, "points": s.points, "trend": s.trend}
            for s in state.signs
        ],
        "findings": [_finding(found) for found in diagnosis.examination.found],
        "guard": [_sighting(seen) for seen in state.seen if seen.by == GUARD],
        "causes": [
            {
                "name": cause.name,
                "title": cause.entry.cause.title,
                "probability": round(cause.probability, DIGITS),
                "verdict": cause.standing.value,
            }
            for cause in explanation.causes
        ],
        "benign": [one.entry.name for one in explanation.benign],
        "not_examined": [rule.rule.code for rule in diagnosis.examination.not_examined],
        "waiting": state.waiting,
    }


def of_alert(alert: Alert, state: State, now: float) -> Json:
    """Something that is told once."""
    return {**_begun("alert", state, now), **alert_fields(alert), "step": state.beat.step}


def of_problem(state: State, message: str, now: float) -> Json:
    """What hinders the watching itself."""
    return {**_begun("problem", state, now), "message": message}


def of_waiting(state: State, now: float) -> Json:
    """That there is nothing to judge, and why."""
    return {**_begun("waiting", state, now), "reason": state.waiting}


def of_message(
    alerts: Iterable[Alert], state: State, text: str, now: float, summary: bool = False, more: int = 0
) -> Json:
    """What a webhook is told: `text` for people, the rest for programs."""
    told: Json = {
        **_begun("alerts", state, now),
        "text": text,
        "verdict": state.diagnosis.verdict.value if state.diagnosis else None,
        "step": state.beat.step,
        "summary": summary,
        "left_out": more,
        "alerts": [alert_fields(alert) for alert in alerts],
    }
    return {name: plain(value) for name, value in told.items()}


def alert_fields(alert: Alert) -> Json:
    """The fields of an alert."""
    return {"why": alert.why.value, **_sighting(alert.sighting)}


def essence(state: State) -> object:
    """What has to change for a state to be told again."""
    diagnosis = state.diagnosis
    if diagnosis is None:
        return None
    found = {(one.rule.code, one.severity, _spot(one)) for one in diagnosis.examination.found}
    causes = {(cause.name, cause.standing) for cause in diagnosis.explanation.causes}
    guard = {(seen.key, seen.severity) for seen in state.seen if seen.by == GUARD}
    changing = (diagnosis.verdict, diagnosis.ending.how, state.beat.stalled)
    return changing, frozenset(found), frozenset(causes), frozenset(guard)


def _spot(found: Found) -> object:
    """Where a finding is, without the steps: they move on as the run does."""
    return tuple((place.file, place.line, place.series) for place in found.finding.places[:1])


def _begun(kind: str, state: State, now: float) -> Json:
    moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    name = state.diagnosis.run.name if state.diagnosis else None
    return {"schema": SCHEMA, "kind": kind, "time": moment, "run": {"path": state.path, "name": name}}


def _sighting(seen: Sighting) -> Json:
    return {
        "severity": seen.severity.value,
        "by": seen.by,
        "code": seen.code or None,
        "name": seen.name,
        "message": seen.message,
        "where": [where_json(place) for place in seen.places],
        "onset_step": seen.onset,
    }


def _finding(found: Found) -> Json:
    finding = found.finding
    return {
        "severity": found.severity.value,
        "code": found.rule.code,
        "name": found.rule.name,
        "message": finding.message,
        "where": [where_json(place) for place in finding.places],
        "onset_step": finding.onset,
    }
