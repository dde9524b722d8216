"""`stethoscope diagnose` in every format, to standard output and to a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.processes import stethoscope


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is over in fifty steps."""
    file = tmp_path_factory.mktemp("run") / "train.csv"
    file.write_text("step,loss\n" + "".join(f"{at},{1 / (at + 1)}\n" for at in range(50)), encoding="utf-8")
    os.utime(file, (1e9, 1e9))  # long ago: it is no longer being written
    return file


@pytest.mark.parametrize(
    ("format_", "begins"),
    [("html", b"<!doctype html>\n"), ("markdown", b"## "), ("sarif", b"{\n"), ("text", b"")],
)
def test_a_format_is_written_to_a_file(format_: str, begins: bytes, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    done = stethoscope("diagnose", log, "--format", format_, "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert out.read_bytes().startswith(begins)


def test_a_page_goes_to_standard_output_where_no_file_is_named(log: Path) -> None:
    done = stethoscope("diagnose", log, "--format", "html")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"</html>\n")


def test_figures_are_written_beside_the_report(log: Path, tmp_path: Path) -> None:
    done = stethoscope("diagnose", log, "--figures", tmp_path / "figures")
    assert done.returncode == 0
    assert (tmp_path / "figures" / "01-loss.svg").read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("option", "where"), [("--out", "nowhere/report.html"), ("--figures", "file/figures")]
)
def test_what_cannot_be_written_is_one_line_and_status_2(
    option: str, where: str, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = stethoscope("diagnose", log, "--format", "html", option, where, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"stethoscope: ")
    assert done.stderr.count(b"\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "nothing is left behind"


def test_a_full_disk_is_said_in_one_line(log: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    done = stethoscope("diagnose", log, "--format", "html", "--out", "/dev/full")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"no space left" in done.stderr.lower()
