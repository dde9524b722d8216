"""Trials of the clinic's cases as they were recorded, one file per case in `records/`.

A record is what `stethoscope clinic trial CASE` leaves as `trial.json`, without what the failed runs printed.
What eight seeds left undecided was put to the test again, alone, with more seeds that no trial had counted:
these records lie in `records/again/`, and what they found about a change stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stethoscope.clinic.as_trial import ALL_CURES

RECORDS = Path(__file__).parent / "records"
AGAIN = "again"
LEFT_OUT = ("tail", "names", "key")  # of each run: they name the machine, or say nothing later
DIGITS = 6  # of each number: more are noise


@dataclass(frozen=True, slots=True)
class Finding:
    """What a trial found about one change; the effect is counted so that more is better."""

    change: str
    seeds: range
    classes: tuple[str, ...]
    why: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def spoken(self) -> str:
        """The classes in words."""
        return " and ".join(self.classes)


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded trial. `scores` are those of the sick and of the cured arm, seed by seed."""

    case: str
    seeds: int
    complete: bool
    margin: float
    margin_why: str
    findings: tuple[Finding, ...]
    placebo: Finding | None
    scores: dict[str, tuple[float | None, ...]]
    again: tuple[Finding, ...] = ()

    def finding(self, change: str) -> Finding | None:
        """What was found about a change, at last."""
        return next((one for one in (*self.again, *self.findings) if one.change == change), None)

    def said(self, change: str) -> str:
        """What was found about a change, in words; empty where it was not tried."""
        found = self.finding(change)
        return found.spoken if found else ""


@cache
def recorded(case: str) -> Record | None:
    """The recorded trial of a case; None where there is none."""
    file = RECORDS / f"{case}.json"
    if not file.exists():
        return None
    later = [_told(one) for one in sorted((RECORDS / AGAIN).glob("*.json"))]
    return _record(_told(file), [one for one in later if one["name"] == case])


def _told(file: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def keep(trial: Path, records: Path = RECORDS) -> Path:
    """Keep the `trial.json` of a case as its record, or beside it where it tried some changes again."""
    told = _told(trial)
    for run in told["runs"]:
        for name in LEFT_OUT:
            run.pop(name, None)
    file = records / _file_name(told)
    file.parent.mkdir(exist_ok=True)
    runs = [json.dumps(_rounded(run), ensure_ascii=False) for run in told.pop("runs")]
    text = json.dumps(_rounded(told), ensure_ascii=False, indent=1)
    # One line for each run, so that a record can be read and compared.
    lines = ",\n  ".join(runs)
    file.write_text(f'{text[:-2]},\n "runs": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    return file


def _file_name(told: dict[str, Any]) -> str:
    if told["seeds"][0] == 0:
        return f"{told['name']}.json"
    return f"{AGAIN}/{'--'.join((told['name'], *_asked(told)))}.json"


def _asked(told: dict[str, Any]) -> list[str]:
    return [change["name"] for change in told["changes"] if change["name"] != ALL_CURES]


def _record(told: dict[str, Any], later: Sequence[dict[str, Any]]) -> Record:
    placebo = told["placebo"]
    return Record(
        told["name"],
        len(told["seeds"]),
        told["complete"],
        told["margin"]["value"],
        told["margin"]["why"],
        _findings(told),
        _finding(placebo, _seeds(told)) if placebo else None,
        {arm: _scores(told["runs"], arm) for arm in ("sick", "cured")},
        tuple(found for one in later for found in _findings(one) if found.change != ALL_CURES),
    )


def _findings(told: dict[str, Any]) -> tuple[Finding, ...]:
    return tuple(_finding(change, _seeds(told)) for change in told["changes"])


def _seeds(told: dict[str, Any]) -> range:
    return range(told["seeds"][0], told["seeds"][-1] + 1)


def _finding(change: dict[str, Any], seeds: range) -> Finding:
    effect = change["alone"] or change["within"] or {}
    return Finding(
        change["name"],
        seeds,
        tuple(change["classes"]),
        change["why"],
        effect.get("mean"),
        effect.get("low"),
        effect.get("high"),
        effect.get("p_adjusted"),
    )


def _scores(runs: Sequence[dict[str, Any]], arm: str) -> tuple[float | None, ...]:
    return tuple(run["score"] for run in runs if run["arm"] == arm)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
