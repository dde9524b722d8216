"""What is true of every patient: its record is its source, its cure fits, its faults have places."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stethoscope.clinic.cases.deblur_fft import cure as deblur_fft
from stethoscope.clinic.cases.diffusion_prior import cure as diffusion_prior
from stethoscope.clinic.cases.protein_sedd import cure as protein_sedd
from stethoscope.clinic.edit import Edit, apply
from tests.clinic.projects import EXAMPLES

CASES = {"deblur-fft": deblur_fft, "diffusion-prior": diffusion_prior, "protein-sedd": protein_sedd}
FAMILIES = {"loop", "precision", "objective", "evaluation", "data", "resume", "ranks", "settings"}

every_case = pytest.mark.parametrize("case", CASES)
every_example = pytest.mark.parametrize(
    ("example", "case"), [(f"{case}{kind}", case) for case in CASES for kind in ("", "-cured")]
)


@every_example
def test_an_example_holds_the_source_that_ran(example: str, case: str, tmp_path: Path) -> None:
    cure = CASES[case]
    cure.copy_project(tmp_path, cure.CURE if example.endswith("-cured") else ())
    recorded = EXAMPLES / example / "code"
    assert {file.relative_to(recorded).as_posix() for file in files_below(recorded)} == set(cure.SOURCES)
    for source in cure.SOURCES:
        assert (recorded / source).read_text() == (tmp_path / source).read_text(), source


@every_example
def test_an_example_names_no_machine_and_stays_small(example: str, case: str) -> None:
    files = files_below(EXAMPLES / example)
    assert sum(file.stat().st_size for file in files) < 250_000
    for file in files:
        assert file.suffix not in {".pt", ".pth"}, file
        assert not re.search(rb"/work|/root|/tmp|/home", file.read_bytes()), file


@every_case
def test_every_edit_of_the_cure_is_explained_and_changes_something(case: str) -> None:
    for edit in CASES[case].CURE:
        assert edit.why
        assert edit.old != edit.to


@every_case
def test_a_cured_project_cannot_be_cured_again(case: str, tmp_path: Path) -> None:
    cure = CASES[case]
    cure.copy_project(tmp_path, cure.CURE)
    with pytest.raises(ValueError, match="expected the text to replace once, found it 0 times"):
        [apply(edit, (tmp_path / edit.file).read_text()) for edit in cure.CURE]


@every_case
def test_every_place_in_the_list_of_faults_is_one_line(case: str) -> None:
    cure = CASES[case]
    listed = faults(cure)
    places = [place for fault in listed["fault"] for place in fault["places"]]
    places += [innocent["place"] for innocent in listed["innocent"]]
    for place in places:
        lines = (cure.PROJECT / place["file"]).read_text().splitlines()
        assert sum(place["line"] in line for line in lines) == 1, place


@every_case
def test_every_fault_has_a_family_and_a_cure(case: str) -> None:
    cure = CASES[case]
    listed = faults(cure)["fault"]
    used: set[str] = set()
    for fault in listed:
        assert fault["why"]
        assert fault.get("family") in FAMILIES | {None}
        assert ("family" in fault) == ("rule" in fault)
        used |= set(fault["cured_by"])
        assert all(getattr(cure, name) in cure.CURE for name in fault["cured_by"]), fault["name"]
    assert len({fault["name"] for fault in listed}) == len(listed)
    # What no fault needs by itself makes the other edits possible.
    assert [name for name in named_edits(cure) if name not in used and "IMPORTS" not in name] == []


@every_case
def test_every_innocent_has_a_reason_and_no_fault_is_there(case: str) -> None:
    listed = faults(CASES[case])
    sick = [place for fault in listed["fault"] for place in fault["places"]]
    for innocent in listed["innocent"]:
        assert innocent["reason"]
        assert innocent["place"] not in sick


def faults(cure: ModuleType) -> dict[str, Any]:
    return tomllib.loads((cure.PROJECT / "faults.toml").read_text(encoding="utf-8"))


def named_edits(cure: ModuleType) -> list[str]:
    return [name for name, value in vars(cure).items() if isinstance(value, Edit) and value in cure.CURE]


def files_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]
