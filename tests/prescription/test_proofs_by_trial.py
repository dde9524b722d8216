"""A trial beside a run is believed: it proves a remedy for this run, or refutes it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stethoscope import Diagnosis, diagnose
from stethoscope.causes import RankedCause, Standing
from stethoscope.run.proof import proofs

EXAMPLE = Path(__file__).parents[2] / "examples" / "nano-sr"
REMEDY, CAUSE = "return-the-dissimilarity", "loss-sign-inverted"
SHRINKING, OF_VALIDATION = "validate-at-full-size", "validation-not-comparable"


def told(*changes: tuple[str, str, str], complete: bool = True) -> str:
    """The result of a trial, as far as a diagnosis reads it."""
    return json.dumps(
        {
            "schema": 1,
            "kind": "trial",
            "seeds": list(range(8)),
            "complete": complete,
            "metric": {"name": "val/psnr"},
            "changes": [
                {
                    "name": name,
                    "title": f"for {cause}",
                    "causes": [cause],
                    "classes": [found],
                    "why": "+2.1 dB on 8 seeds",
                    "edits": [],
                }
                for name, cause, found in changes
            ],
        }
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("run") / "nano-sr"
    shutil.copytree(EXAMPLE, target)
    return target


@pytest.fixture(scope="module")
def before(project: Path) -> Diagnosis:
    """The diagnosis without a trial."""
    return diagnose(project)


def diagnosed(project: Path, result: str) -> Diagnosis:
    file = project / "trial.json"
    file.write_text(result, encoding="utf-8")
    try:
        return diagnose(project)
    finally:
        file.unlink()


def cause(diagnosis: Diagnosis, name: str) -> RankedCause:
    return next(one for one in diagnosis.explanation.causes if one.name == name)


def test_a_cure_that_was_seen_to_work_proves_its_cause_and_its_remedy(
    project: Path, before: Diagnosis
) -> None:
    after = diagnosed(project, told((SHRINKING, OF_VALIDATION, "necessary")))
    assert cause(before, OF_VALIDATION).standing is Standing.SUPPORTED
    assert cause(after, OF_VALIDATION).standing is Standing.PROVED
    assert cause(after, OF_VALIDATION).probability > cause(before, OF_VALIDATION).probability
    (edit,) = [one for one in after.prescription.edits if one.remedy == SHRINKING]
    assert edit.proof.startswith("necessary in a trial on 8 seeds (")


def test_a_remedy_that_did_nothing_is_not_prescribed_and_the_reason_is_told(project: Path) -> None:
    after = diagnosed(project, told((REMEDY, CAUSE, "no effect")))
    assert REMEDY not in [one.remedy for one in after.prescription.edits]
    (refused,) = [one for one in after.prescription.not_recommended if one.what == REMEDY]
    assert refused.why == "no effect in a trial on 8 seeds: +2.1 dB on 8 seeds"
    assert any(argument.rule == "trial" for argument in cause(after, CAUSE).arguments_against)


def test_a_trial_that_was_cut_short_supports_and_does_not_prove(project: Path) -> None:
    after = diagnosed(project, told((SHRINKING, OF_VALIDATION, "necessary"), complete=False))
    assert cause(after, OF_VALIDATION).standing is Standing.SUPPORTED


@pytest.mark.parametrize("broken", ["", "{", '{"schema": 1, "kind": "trial"}', "[1, 2]", "\x00\x01"])
def test_a_trial_that_cannot_be_read_proves_nothing(broken: str, tmp_path: Path) -> None:
    (tmp_path / "trial.json").write_text(broken, encoding="utf-8")
    assert proofs(tmp_path) == ()


def test_what_was_not_decided_and_the_runs_of_a_trial_change_nothing(
    project: Path, before: Diagnosis
) -> None:
    runs = project / "trials"
    (runs / "copy").mkdir(parents=True)
    try:
        (runs / "lock").touch()
        (runs / "sick-0.json").write_text('{"step": 1, "loss": 7.0}\n', encoding="utf-8")
        (runs / "copy" / "train.csv").write_text("step,loss\n1,9\n2,9\n", encoding="utf-8")
        after = diagnosed(
            project, told((REMEDY, CAUSE, "undecided"), (SHRINKING, OF_VALIDATION, "undecided"))
        )
    finally:
        shutil.rmtree(runs)
    assert [(one.name, one.probability) for one in after.explanation.causes] == [
        (one.name, one.probability) for one in before.explanation.causes
    ]
    assert after.prescription == before.prescription
    assert len(after.run.logs) == len(before.run.logs)
    assert after.run.unread == before.run.unread
