"""A visit to the clinic: sick, diagnosed, treated as prescribed, and cured."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.clinic.catalogue import case_called, cases, size_called
from stethoscope.clinic.visit import Visit, visit
from stethoscope.clinic.visit_page import write
from stethoscope.clinic.visit_picture import are_same, picture
from stethoscope.clinic.visit_text import summary
from stethoscope.errors import StethoscopeError


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    case = case_called("nano-sr")
    told: list[tuple[str, ...]] = []
    folder = tmp_path_factory.mktemp("visit")
    found = visit(case, size_called(case, "ci"), 0, folder, told.append)
    assert {"sick", "cured", "as-prescribed", "diagnosis"} == {name for names in told for name in names}
    return found


def test_what_is_prescribed_is_the_cure(seen: Visit) -> None:
    assert set(seen.applied) == {"return-the-dissimilarity", "validate-at-full-size"}
    assert are_same(seen.prescribed, seen.cured)
    assert not are_same(seen.first, seen.cured)


def test_the_cured_run_is_better_by_the_clinics_yardstick(seen: Visit) -> None:
    assert seen.cured is not None
    assert seen.first.outcome.score is not None
    assert seen.cured.outcome.score is not None
    assert seen.cured.outcome.score > seen.first.outcome.score


def test_the_projects_are_left_as_their_user_would_find_them(seen: Visit) -> None:
    for one in seen.patients:
        assert (one.home / "train.py").is_file()
        assert list(one.run.glob("*.log"))
    assert not list(seen.first.home.parents[1].glob("untouched"))


def test_two_runs_that_were_the_same_are_drawn_once(seen: Visit) -> None:
    drawn = picture(seen)
    assert [line.name for line in drawn.panels[0].lines] == [
        "sick",
        "as prescribed, the same as cured by hand",
    ]


def test_the_page_and_the_picture_are_written(seen: Visit, tmp_path: Path) -> None:
    page, shown = write(seen, picture(seen), tmp_path)
    assert shown.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert "return 1 - (luminance * structure).mean()" in text
    assert "<script" not in text


def test_the_summary_names_causes_remedies_and_scores(seen: Visit) -> None:
    text = "\n".join(summary(seen))
    assert "A similarity is minimised" in text
    assert "Applied as prescribed: " in text
    assert "doing nothing" in text


def test_every_case_is_found_by_its_folder_and_has_the_sizes_that_are_run() -> None:
    for case in cases():
        assert case_called(case.name.replace("-", "_")) is case
        assert {"ci", "small"} <= {size.name for size in case.sizes}
        assert case.benign == (not any(change.role == "cure" for change in case.changes))


def test_a_name_that_is_not_quite_right_is_helped_along() -> None:
    with pytest.raises(StethoscopeError, match="Did you mean nano-sr"):
        case_called("nano-ssr")
    with pytest.raises(StethoscopeError, match="There are: "):
        case_called("xyz")
    with pytest.raises(StethoscopeError, match="has no size huge"):
        size_called(case_called("nano-sr"), "huge")
