"""What is true of every cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from stethoscope import findings
from stethoscope.causes import CauseEntry, catalogue
from stethoscope.causes.cause import CURVE_FAMILIES
from stethoscope.findings import Severity

ROOT = Path(__file__).parents[2]
KNOWN = ROOT.parent / "shared" / "knowledge" / "causes.yaml"
UNSEEN = ROOT / "docs" / "explanation" / "what-cannot-be-seen.md"
HEADINGS = ["How it works", "How to tell it from its look-alikes", "What cures it"]

every_cause = pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)


@every_cause
def test_a_cause_documents_itself(entry: CauseEntry) -> None:
    assert entry.summary.endswith(".")
    assert entry.cause.title
    assert entry.cause.confirm_by
    assert re.findall(r"^## (.+)$", entry.page, re.MULTILINE) == HEADINGS


@every_cause
def test_a_cause_cites_rules_and_causes_that_exist(entry: CauseEntry) -> None:
    rules = {rule.name for rule in findings.catalogue()}
    cited = {evidence.rule for evidence in entry.cause.evidence} | set(entry.cause.explains)
    assert cited <= rules
    assert set(entry.cause.shows) <= {
        rule.name for rule in findings.catalogue() if rule.family in CURVE_FAMILIES
    }
    assert set(entry.cause.leads_to) <= {other.name for other in catalogue()}


@every_cause
def test_something_can_speak_for_a_cause(entry: CauseEntry) -> None:
    assert any(evidence.weight > 0 for evidence in entry.cause.evidence)


def test_every_rule_above_a_note_is_cited_by_a_cause() -> None:
    cited = {evidence.rule for entry in catalogue() for evidence in entry.cause.evidence}
    above = {rule.name for rule in findings.catalogue() if rule.severity is not Severity.NOTE}
    assert above - cited == set()


def test_every_cause_that_is_known_has_its_file_or_a_reason_why_not() -> None:
    if not KNOWN.exists():
        pytest.skip("the list of known causes, ../shared/knowledge/causes.yaml, is not here")
    known = {cause["slug"] for cause in yaml.safe_load(KNOWN.read_text(encoding="utf-8"))}
    unseen = set(re.findall(r"^\| ([a-z0-9-]+) \|", UNSEEN.read_text(encoding="utf-8"), re.MULTILINE)) - {
        "cause"
    }
    has_file = {entry.name for entry in catalogue()}
    assert known - has_file == unseen
