from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.errors import UnwritableFile
from stethoscope.figures.chart import Chart, Line
from stethoscope.figures.save import save

CHART = Chart("Loss", lines=[Line("loss", [0, 1], [1, 0])])


@pytest.mark.parametrize(
    ("name", "begins"), [("a.svg", b"<svg "), ("a.PNG", b"\x89PNG"), ("a.html", b"<!doctype html>")]
)
def test_the_ending_says_how_it_is_written(tmp_path: Path, name: str, begins: bytes) -> None:
    save(CHART, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_other_endings_and_missing_folders_are_refused_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"a\.jpg: pictures are written as \.svg, \.png or \.html"):
        save(CHART, tmp_path / "a.jpg")
    with pytest.raises(UnwritableFile, match=r"missing.a\.svg: No such file"):
        save(CHART, tmp_path / "missing" / "a.svg")
