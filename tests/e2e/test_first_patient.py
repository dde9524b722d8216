"""The first patient: examples/nano-sr is told what is really wrong with it, its cured twin nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stethoscope.causes import Standing
from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.findings import Severity

UNKNOWN_KEY = "grad_clip_max_norm"


@pytest.fixture(scope="module")
def sick(root: Path) -> Diagnosis:
    return diagnose(root / "examples" / "nano-sr")


@pytest.fixture(scope="module")
def cured(root: Path) -> Diagnosis:
    return diagnose(root / "examples" / "nano-sr-cured")


def test_it_leads_with_the_two_defects_that_were_really_there(sick: Diagnosis) -> None:
    leading = sick.explanation.causes[:2]
    assert sick.verdict == "sick"
    assert {cause.name for cause in leading} == {"loss-sign-inverted", "validation-not-comparable"}
    assert all(cause.standing in {Standing.PROVED, Standing.SUPPORTED} for cause in leading)
    for cause in leading:
        assert any(place.file.endswith(".py") and place.line for place in cause.where)


def test_no_other_cause_stands(sick: Diagnosis) -> None:
    standing = {
        c.name for c in sick.explanation.causes if c.standing in {Standing.PROVED, Standing.SUPPORTED}
    }
    assert standing == {"loss-sign-inverted", "validation-not-comparable"}


def test_each_defect_has_the_diff_that_mends_it(sick: Diagnosis) -> None:
    by_cause = {edit.cures[0]: edit for edit in sick.prescription.edits}
    sign = by_cause["loss-sign-inverted"]
    assert sign.file.endswith("losses.py")
    assert "+" in sign.diff
    assert "1 -" in sign.diff
    size = by_cause["validation-not-comparable"]
    assert size.file.endswith(".py")
    assert any(line.startswith("-") and "interpolate" in line for line in size.diff.splitlines())


def test_the_edits_turn_the_sick_source_into_a_silent_one(
    sick: Diagnosis, root: Path, tmp_path: Path
) -> None:
    mended = tmp_path / "run"
    shutil.copytree(root / "examples" / "nano-sr", mended)
    for edit in sick.prescription.edits:
        if edit.kind == "source":
            _apply(edit.diff, mended / Path(edit.file).relative_to(root / "examples" / "nano-sr"))
    again = diagnose(mended)
    assert {f.rule.name for f in again.examination.found} & {
        "similarity-minimised",
        "validation-resizes",
    } == set()


def test_the_loss_scale_is_called_healthy_and_said_why(sick: Diagnosis) -> None:
    names = {benign.entry.name for benign in sick.explanation.benign}
    assert names & {"loss-scale-high", "loss-scale-sawtooth"}
    assert all(benign.why for benign in sick.explanation.benign)


def test_the_loss_scheduler_is_bounded_and_ruled_out(sick: Diagnosis) -> None:
    controller = next(c for c in sick.explanation.causes if c.name == "loss-weight-controller-unstable")
    assert controller.standing is Standing.CONTRADICTED
    assert "%" in controller.arguments_against[0].finding.message
    assert any("loss weights" in idea.what for idea in sick.prescription.not_recommended)


def test_no_checkpoint_exists_at_the_peak(sick: Diagnosis) -> None:
    assert sick.prescription.checkpoint is None
    assert "No checkpoint exists at the best" in sick.prescription.checkpoint_note


def test_clipping_is_not_advised_because_it_is_set(sick: Diagnosis) -> None:
    assert any(
        "clipping" in idea.what and "already set" in idea.why for idea in sick.prescription.not_recommended
    )


def test_a_key_this_framework_does_not_have_is_named_with_the_one_it_has(root: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(root / "examples" / "nano-sr", run)
    config = next(run.glob("*.yml"))
    text = config.read_text().replace("  grad_clip: true", f"  grad_clip: true\n  {UNKNOWN_KEY}: 1.0")
    config.write_text(text)
    diagnosis = diagnose(run)
    unknown = diagnosis.examination.of("unknown-setting")
    assert [UNKNOWN_KEY in finding.message and "grad_clip" in finding.message for finding in unknown] == [
        True
    ]
    assert unknown[0].places[0].line == text[: text.index(UNKNOWN_KEY)].count("\n") + 1
    edit = next(edit for edit in diagnosis.prescription.edits if edit.kind == "config")
    changed = [line for line in edit.diff.splitlines()[2:] if line[:1] in {"+", "-"}]
    assert changed == [f"-  {UNKNOWN_KEY}: 1.0"]
    assert edit.level == "display"


def test_the_cured_twin_is_healthy(cured: Diagnosis) -> None:
    loud = [f for f in cured.examination.found if f.severity is not Severity.NOTE]
    assert [(f.rule.name, f.finding.message) for f in loud] == []
    assert cured.verdict == "healthy"
    assert cured.prescription.edits == ()


def test_both_runs_say_how_they_ended(sick: Diagnosis, cured: Diagnosis) -> None:
    assert (sick.ending.how, cured.ending.how) == ("finished", "finished")


def _apply(diff: str, file: Path) -> None:
    """Apply a unified diff of ours to a file, hunk by hunk."""
    text = file.read_text()
    for hunk in diff.split("\n@@")[1:]:
        lines = hunk.split("\n")[1:]
        before = "\n".join(line[1:] for line in lines if line[:1] in {" ", "-"} and line)
        after = "\n".join(line[1:] for line in lines if line[:1] in {" ", "+"} and line)
        assert text.count(before) == 1
        text = text.replace(before, after)
    file.write_text(text)
