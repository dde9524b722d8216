"""A run held to its trajectory, for programs (schema 1)."""

from __future__ import annotations

import json
import math

from stethoscope.report.check_words import sign_sentence, signal_sentence
from stethoscope.report.plain_json import plain
from stethoscope.trajectory.holding import Departure, JudgedSign, JudgedSignal, Judgement, not_examined

SCHEMA = 1


def render(judgement: Judgement) -> str:
    """One object."""
    told = {
        "schema": SCHEMA,
        "run": {"path": judgement.run.path, "name": judgement.run.name, "steps": judgement.run.steps},
        "against": judgement.trajectory.file,
        "verdict": "left" if judgement.departed else "held" if judgement.examined else "not examined",
        "false_alarms": judgement.trajectory.false_alarms,
        "signals": [_signal(judgement, one) for one in judgement.signals],
        "warnings": [_sign(one) for one in judgement.signs],
        "not_examined": [
            {"signal": name, "missing": why, "log_this": log_this}
            for name, why, log_this in not_examined(judgement)
        ],
    }
    return json.dumps(plain(told), indent=2, ensure_ascii=False) + "\n"


def _signal(judgement: Judgement, one: JudgedSignal) -> dict[str, object]:
    series = one.series
    where = None
    if series is not None:
        gone = one.departure
        address = series.where(gone.first, gone.last) if gone is not None else series.where()
        where = {"file": address.file, "series": address.series, "steps": address.steps}
    return {
        "signal": one.held.name,
        "outcome": one.outcome,
        "message": signal_sentence(one),
        "line": judgement.trajectory.lines.get(one.held.name),
        "where": where,
        "named_steps": len(one.held.rows),
        "named_steps_reached": one.reached,
        "better_than_expected": one.better,
        "departure": None if one.departure is None else _departure(one.departure),
        "levels": [
            {"first": level.first, "last": level.last, "points": level.points, "value": _number(level.value)}
            for level in one.levels
        ],
    }


def _departure(gone: Departure) -> dict[str, object]:
    return {
        "first_step": gone.first,
        "last_step": gone.last,
        "to_the_end": gone.to_the_end,
        "side": "above" if gone.above else "below",
        "worst_step": gone.worst,
        "seen": _number(gone.seen),
        "expected": _number(gone.expected),
        "limit": _number(gone.limit),
        "chance": gone.chance,
    }


def _sign(one: JudgedSign) -> dict[str, object]:
    seen = one.seen
    told: dict[str, object] = {
        "signal": one.sign.signal,
        "when": one.sign.when,
        "value": one.sign.value,
        "examined": one.examined,
        "shown": seen is not None,
    }
    if seen is not None:
        told |= {"first_step": seen.first, "last_step": seen.last, "message": sign_sentence(one)}
    return told


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
