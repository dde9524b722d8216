"""Recorded trials: what is kept of them, and what is read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.clinic import recorded as records
from stethoscope.clinic.catalogue import cases

EFFECT = {"mean": 2.1234567891, "low": 1.5, "high": 2.6, "p": 0.0078, "p_adjusted": 0.0117}
TRIAL = {
    "schema": 1,
    "kind": "trial",
    "name": "made-up",
    "seeds": [0, 1],
    "complete": True,
    "margin": {"value": 0.4, "why": "a quarter of the distance"},
    "changes": [
        {"name": "cure", "classes": ["necessary", "sufficient"], "why": "w", "alone": EFFECT, "within": None},
        {"name": "broken", "classes": ["cannot be applied"], "why": "x", "alone": None, "within": None},
    ],
    "placebo": None,
    "runs": [
        {"arm": "only broken", "seed": 0, "score": None, "ending": "broken"},
        {"arm": "only cure", "seed": 0, "score": 3.0, "ending": "scored"},
        {"arm": "sick", "seed": 0, "score": 1.0, "tail": ["/home/somebody"], "key": "k", "names": []},
        {"arm": "sick", "seed": 1, "score": None, "tail": [], "key": "k", "names": []},
        {"arm": "cured", "seed": 0, "score": 3.0, "tail": [], "key": "k", "names": []},
    ],
}


def test_what_is_kept_names_no_machine_and_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trial.json").write_text(json.dumps(TRIAL), encoding="utf-8")
    file = records.keep(tmp_path / "trial.json", tmp_path)
    assert "somebody" not in file.read_text(encoding="utf-8")
    assert json.loads(file.read_text(encoding="utf-8"))["changes"][0]["alone"]["mean"] == 2.12346
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    records.recorded.cache_clear()
    record = records.recorded("made-up")
    records.recorded.cache_clear()
    assert record is not None
    assert record.scores == {"sick": (1.0, None), "cured": (3.0,)}
    found = record.finding("cure")
    assert found is not None
    assert (found.spoken, found.p) == ("necessary and sufficient", 0.0117)
    assert record.said("broken") == "cannot be applied"
    assert record.said("never tried") == ""


AGAIN = TRIAL | {
    "seeds": [8, 9, 10],
    "changes": [
        {"name": "all-cures", "classes": ["sufficient"], "why": "c", "alone": EFFECT, "within": None},
        {"name": "cure", "classes": ["helpful"], "why": "v", "alone": EFFECT, "within": None},
    ],
}


def test_what_a_second_trial_found_about_a_change_stands_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trial in (TRIAL, AGAIN):
        (tmp_path / "trial.json").write_text(json.dumps(trial), encoding="utf-8")
        file = records.keep(tmp_path / "trial.json", tmp_path)
    assert file == tmp_path / "again" / "made-up--cure.json"
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    records.recorded.cache_clear()
    record = records.recorded("made-up")
    records.recorded.cache_clear()
    assert record is not None
    found = record.finding("cure")
    assert found is not None
    assert (found.spoken, found.seeds) == ("helpful", range(8, 11))
    assert record.said("broken") == "cannot be applied"
    assert record.finding("all-cures") is None


def test_every_record_is_of_a_case_and_knows_its_changes() -> None:
    by_name = {case.name: case for case in cases()}
    for file in records.RECORDS.glob("*.json"):
        record = records.recorded(file.stem)
        assert record is not None
        known = {change.name for change in by_name[record.case].changes}
        assert {finding.change for finding in (*record.findings, *record.again)} <= known


def test_every_proposal_of_the_write_ups_ends_in_a_class() -> None:
    found: dict[str, set[str]] = {}
    for case in cases():
        record = records.recorded(case.name)
        for change in case.changes:
            for claim in change.claims:
                found.setdefault(claim, set()).add(record.said(change.name) if record else "")
    assert len(found) > 60
    assert [claim for claim, said in found.items() if said <= {"", "undecided"}] == []
