"""What is true of every change of a case: it fits, alone and beside the cures, in every size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stethoscope.clinic.case import Case, Role
from stethoscope.clinic.catalogue import cases
from stethoscope.clinic.edit import Edit, apply
from stethoscope.trials.trial import Class
from tests.clinic.case_runs import cure_of

CASES = {case.name: case for case in cases()}
# What a change without edits is: proposed, and not in a way that anybody could carry out.
NOT_APPLICABLE = "cannot be applied"

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
def test_every_change_fits_alone_in_every_size(case: Case) -> None:
    for size in case.sizes:
        sick = edited(sources(case), size.edits)
        for change in case.changes:
            changed = edited(sick, change.edits)
            assert (changed != sick) == bool(change.edits), (size.name, change.name)


@every_case
def test_the_cures_fit_together_and_without_any_one_of_them(case: Case) -> None:
    for size in case.sizes:
        sick = edited(sources(case), size.edits)
        edited(sick, cure_of(case))
        for left_out in [change for change in case.changes if change.role is Role.CURE]:
            edited(sick, tuple(edit for edit in cure_of(case) if edit not in left_out.edits))


@every_case
def test_python_still_reads_every_changed_file(case: Case) -> None:
    for size in case.sizes:
        for change in case.changes:
            for file, text in edited(sources(case), (*size.edits, *change.edits)).items():
                if file.endswith(".py"):
                    compile(text, file, "exec")


@every_case
def test_a_change_without_edits_says_that_it_cannot_be_applied(case: Case) -> None:
    for change in case.changes:
        if not change.edits:
            assert change.role is Role.ADVICE
            assert change.predicted == (NOT_APPLICABLE,)
            assert change.title.startswith("Cannot be applied: ")


@every_case
def test_names_claims_and_predictions_can_be_read(case: Case) -> None:
    assert len({change.name for change in case.changes}) == len(case.changes)
    for change in case.changes:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", change.name)
        assert all(re.fullmatch(r"00[0-4](\.\d+)?", claim) for claim in change.claims)
        assert set(change.predicted) <= {*Class, NOT_APPLICABLE}
        assert change.predicted
    assert [change for change in case.changes if change.role is Role.PLACEBO]
    assert case.benign == (not cure_of(case))


@every_case
def test_the_command_has_one_seed_and_the_evaluator_one_run(case: Case) -> None:
    assert re.findall(r"\{\w*\}", case.command) == ["{seed}"]
    assert re.findall(r"\{\w*\}", case.evaluate) == ["{run}"]
    assert [size.name for size in case.sizes][:2] == ["ci", "small"]
    assert not Path(case.run).is_absolute()


def test_every_proposal_of_the_write_ups_is_among_the_changes() -> None:
    """The numbers are those of the claims that propose something to change."""
    claimed = {claim for case in CASES.values() for change in case.changes for claim in change.claims}
    proposed = [f"000.{number}" for number in (6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18)]
    proposed += [f"001.{number}" for number in (3, 6, 7, 8, 9, 12, 14)]
    proposed += [f"002.{number}" for number in (3, 4, 7, 9, 15, 16)]
    proposed += [f"003.{number}" for number in (7, 8, 9, 10, 11, 12, 13)]
    proposed += [f"004.{number}" for number in (5, 6, 7, 9, 10, 11, 12)]
    assert [claim for claim in proposed if claim not in claimed] == []


def sources(case: Case) -> dict[str, str]:
    return {name: (case.project / name).read_text(encoding="utf-8") for name in case.sources}


def edited(files: dict[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    files = dict(files)
    for edit in edits:
        files[edit.file] = apply(edit, files[edit.file])
    return files
