"""Proofs: whatever lies beside a run under the name of a trial's result, reading it does not crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stethoscope.trials import Change, Ending, Metric, NewValue, Outcome, Trial, judge, proofs
from stethoscope.trials.arms import arms_of
from stethoscope.trials.trial_json import rendered


def test_a_cut_short_trial_is_a_proof_that_says_so(tmp_path: Path) -> None:
    change = Change("train.lr=1", (NewValue("train.lr", "1"),), "set train.lr to 1")
    trial = Trial("t", tmp_path, ("x",), Metric("val/psnr", "max"), (change,), tmp_path, seeds=(1, 2, 3))
    outcomes = [Outcome("sick", 1, Ending.SCORED, 1.0), Outcome("cured", 1, Ending.SCORED, 2.0)]
    text = rendered(judge(trial, arms_of(trial), outcomes, complete=False))
    (tmp_path / "trial.json").write_text(text, encoding="utf-8")
    (proof,) = proofs(tmp_path)
    assert (proof.classes, proof.cures, proof.refuted) == (("undecided",), False, False)
    assert (proof.complete, proof.seeds) == (False, 3)
    # One seed has no interval; a JSON that others can read has null for it.
    assert json.loads(text)["distance"]["low"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"kind": "trial"}',
        '{"kind": "trial", "schema": 2, "changes": []}',
        "\x00\xff",
    ],
)
def test_what_is_no_result_of_a_trial_proves_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "trial.json").write_text(text, encoding="utf-8")
    assert proofs(tmp_path) == ()


def test_a_result_that_says_nonsense_proves_nothing(tmp_path: Path) -> None:
    told = {"kind": "trial", "schema": 1, "changes": 7, "metric": {"name": "x"}, "seeds": [], "complete": 1}
    for changes in (7, [7], [{"name": "a"}], [{"name": "a", "edits": 3}], None):
        (tmp_path / "trial.json").write_text(json.dumps(told | {"changes": changes}), encoding="utf-8")
        assert proofs(tmp_path) == ()
    assert proofs(tmp_path / "nowhere") == ()
