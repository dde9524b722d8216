"""The page about the detectors says what the record of their study holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks" / "recorded" / "detector_size_and_power.json"
NAIVE = RECORD.with_name("naive_tests.json")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    if not RECORD.exists():
        pytest.skip("the benchmarks are not part of a source distribution")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.mark.usefixtures("benchmarks")
def test_the_page_is_written_from_the_record() -> None:
    from detector_study.page import page

    written = (ROOT / "docs" / "science" / "detectors.md").read_text(encoding="utf-8")
    record, naive = (json.loads(file.read_text(encoding="utf-8")) for file in (RECORD, NAIVE))
    assert written == page(record, naive)


@pytest.mark.usefixtures("benchmarks")
def test_every_recorded_cell_is_one_of_the_study() -> None:
    from detector_study import of_curves, of_known_causes, of_points, of_schedules

    parts = (of_curves, of_known_causes, of_points, of_schedules)
    studies = {study.detector: study for part in parts for study in part.studies()}
    for kept in json.loads(RECORD.read_text(encoding="utf-8"))["studies"]:
        study = studies.pop(kept["detector"])
        cells = {(cell.label, cell.count) for cell in (*study.healthy, *study.faults)}
        assert {(cell["label"], cell["count"]) for cell in kept["cells"]} == cells
    assert not studies
