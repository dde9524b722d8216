"""Each chart of a run is written as a picture of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stethoscope.errors import UnwritableFile
from stethoscope.report.run_figures import write
from tests.report import patients


def test_every_chart_is_an_svg_and_a_png(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="resvg_py is not installed: no PNG is drawn")
    written = write(patients.sick(), tmp_path / "new" / "figures")
    names = ["01-val-psnr.svg", "01-val-psnr.png", "02-loss.svg", "02-loss.png"]
    assert [file.name for file in written] == names
    assert written[0].read_bytes().startswith(b"<svg")
    assert written[1].read_bytes().startswith(b"\x89PNG")


def test_a_hostile_series_names_no_path(tmp_path: Path) -> None:
    evil = patients.series("../../etc/passwd\x00<b>", (1.0, 2.0, 3.0))
    written = write(replace(patients.sick(), run=patients.run(evil)), tmp_path)
    assert {file.parent for file in written} == {tmp_path}
    assert written[0].name == "01-etc-passwd-x00-b.svg"


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFile, match="could not be made"):
        write(patients.sick(), tmp_path / "file" / "figures")
