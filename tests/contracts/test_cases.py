"""Every rule does what its cases say, and every rule has a sick case and a healthy one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.findings import apply, catalogue, rule_named
from stethoscope.read import read
from stethoscope.signals import Missing, measure
from tests.literate import Case, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rule_says_what_its_case_says(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    outcome = apply(rule_named(case.rule), measure(read(tmp_path)))
    if case.not_examined:
        assert isinstance(outcome, Missing), outcome
        assert all(words in outcome.why for words in case.not_examined), outcome.why
        return
    assert not isinstance(outcome, Missing), outcome
    if case.silent:
        assert outcome == ()
    for where, words in case.reported:
        said = [(str(place), finding.message) for finding in outcome for place in finding.places]
        assert any(words in text and (where is None or place.endswith(where)) for place, text in said), said
    assert case.silent or case.reported, "the case says nothing about what to expect"


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.name)
def test_every_rule_has_a_sick_case_and_a_healthy_one(rule: object) -> None:
    own = [case for case in CASES if case.rule == rule.name]  # type: ignore[attr-defined]
    assert any(case.reported for case in own)
    assert any(case.silent for case in own)
