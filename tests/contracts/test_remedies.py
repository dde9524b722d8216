"""Every remedy names the recorded trial that shows what it does, and the record says so."""

from __future__ import annotations

import pytest

from stethoscope.clinic.catalogue import case_called
from stethoscope.clinic.recorded import Finding, Record, recorded
from stethoscope.prescription import ClinicTrial, Level, catalogue
from stethoscope.prescription.remedy import RemedyEntry

REFUSED = "cannot be applied"
WORKS = {"necessary", "sufficient", "helpful", "changes the yardstick"}

remedies = pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)


def _proof(entry: RemedyEntry) -> ClinicTrial:
    assert entry.remedy.proof, f"{entry.name} names no trial"
    return entry.remedy.proof


def _record(entry: RemedyEntry) -> tuple[Record, Finding]:
    proof = _proof(entry)
    record = recorded(proof.case)
    assert record, f"no trial of {proof.case} is recorded"
    finding = record.finding(proof.change)
    assert finding, f"the trial of {proof.case} does not know {proof.change}"
    return record, finding


@remedies
def test_the_recorded_trial_says_what_the_remedy_says_of_it(entry: RemedyEntry) -> None:
    record, finding = _record(entry)
    assert _proof(entry).found == record.said(finding.change)


@remedies
def test_the_trial_is_complete_and_has_eight_seeds(entry: RemedyEntry) -> None:
    record, _ = _record(entry)
    assert record.complete
    assert record.seeds >= 8


@remedies
def test_the_effect_is_the_recorded_one(entry: RemedyEntry) -> None:
    if not (effect := _proof(entry).effect):
        return
    _, finding = _record(entry)
    assert finding.mean is not None
    unit = case_called(_proof(entry).case).metric.unit
    assert effect == f"{finding.mean:+.3g} {unit}".strip()


@remedies
def test_what_does_nothing_is_only_shown(entry: RemedyEntry) -> None:
    proof = _proof(entry)
    if proof.undone:
        assert proof.found in (REFUSED, "harmful")
    elif not WORKS & set(_record(entry)[1].classes):
        assert entry.remedy.level is Level.DISPLAY
