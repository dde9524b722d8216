"""Trials of the clinic's cases as they were recorded, one file per case in `records/`.

A record is what `stethoscope clinic trial CASE` leaves as `trial.json`, without what the failed runs printed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
LEFT_OUT = ("tail", "names", "key")  # of each run: they name the machine, or say nothing later
DIGITS = 6  # of each number: more are noise


@dataclass(frozen=True, slots=True)
class Finding:
    """What a trial found about one change; the effect is counted so that more is better."""

    change: str
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

    def finding(self, change: str) -> Finding | None:
        """What was found about a change."""
        return next((one for one in self.findings if one.change == change), None)

    def said(self, change: str) -> str:
        """What was found about a change, in words; empty where it was not tried."""
        found = self.finding(change)
        return found.spoken if found else ""


@cache
def recorded(case: str) -> Record | None:
    """The recorded trial of a case; None where there is none."""
    file = RECORDS / f"{case}.json"
    return _record(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def keep(trial: Path, records: Path = RECORDS) -> Path:
    """Keep the `trial.json` of a case as its record."""
    told = json.loads(trial.read_text(encoding="utf-8"))
    for run in told["runs"]:
        for name in LEFT_OUT:
            run.pop(name, None)
    file = records / f"{told['name']}.json"
    runs = [json.dumps(_rounded(run), ensure_ascii=False) for run in told.pop("runs")]
    text = json.dumps(_rounded(told), ensure_ascii=False, indent=1)
    # One line for each run, so that a record can be read and compared.
    lines = ",\n  ".join(runs)
    file.write_text(f'{text[:-2]},\n "runs": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    return file


def _record(told: dict[str, Any]) -> Record:
    placebo = told["placebo"]
    return Record(
        told["name"],
        len(told["seeds"]),
        told["complete"],
        told["margin"]["value"],
        told["margin"]["why"],
        tuple(_finding(change) for change in told["changes"]),
        _finding(placebo) if placebo else None,
        {arm: _scores(told["runs"], arm) for arm in ("sick", "cured")},
    )


def _finding(change: dict[str, Any]) -> Finding:
    effect = change["alone"] or change["within"] or {}
    return Finding(
        change["name"],
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
