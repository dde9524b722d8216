"""`stethoscope logs`: nothing is lost silently, and what is exported reads back as it was."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from stethoscope.cli import _output, stethoscope
from stethoscope.errors import NothingToRead, UnwritableFile
from stethoscope.inventory import take_stock
from stethoscope.report import inventory_text, points_parquet
from stethoscope.report.terminal import plain_console
from tests.cli import processes

ROWS = ["0,0.9,0.1", "10,nan,0.2", "20,inf,0.3", "30,-inf,0.4", "40,0.30000000000000004,0.5"]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run with values that are not finite, settings, and a file that cannot be read."""
    folder = tmp_path / "nano"
    folder.mkdir()
    (folder / "train.csv").write_text("step,loss,val_psnr\n" + "\n".join(ROWS) + "\n")
    (folder / "config.yaml").write_text("lr: 0.1\n")
    (folder / "odd.log").write_bytes(bytes(range(256)) * 4)
    return folder


@pytest.fixture(autouse=True)
def piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks for a width."""
    monkeypatch.delenv("COLUMNS", raising=False)


def run(*arguments: str | Path) -> tuple[object, str]:
    result = CliRunner().invoke(
        stethoscope, ["logs", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout


def shown(folder: Path, width: int | None) -> str:
    return inventory_text.render(take_stock(folder), plain_console(80), width=width)


# --- text


def test_the_text_names_files_and_series(run_folder: Path) -> None:
    status, told = run(run_folder)
    assert status == 0
    assert f"{run_folder}: 1 log, 2 series, 10 points, steps 0 to 40\n" in told
    assert "train.csv    log       CSV table" in told
    assert "config.yaml  settings  1 setting" in told
    assert "odd.log      not read  binary, not a text log" in told
    row = next(line for line in told.splitlines() if line.startswith("  loss "))
    assert row.split()[1:5] == ["5", "0..40", "0.9", "0.3"]
    assert "lower" in row
    assert " 3 " in row  # not finite
    assert next(line for line in told.splitlines() if line.startswith("  val/psnr ")).count("higher") == 1


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_terminal_of_any_width_gets_lines_that_fit(run_folder: Path, width: int, root: Path) -> None:
    for folder in (run_folder, root / "examples" / "nano-sr"):
        lines = shown(folder, width).splitlines()
        assert max(map(len, lines)) <= max(width, len(str(run_folder)) + 2)


def test_what_a_narrow_table_cannot_hold_is_said_below_the_row(run_folder: Path) -> None:
    told = " ".join(shown(run_folder, 50).split())
    assert "between 0.3 and 0.9; 3 not finite; lower is better; logged as loss" in told


def test_piped_each_series_is_one_line(root: Path) -> None:
    lines = shown(root / "examples" / "nano-sr", None).splitlines()
    assert sum(line.startswith("  loss") for line in lines) == 4
    assert all(
        ("l_g_total" in line) == line.startswith("  loss  ") for line in lines if "scale_g" not in line
    )


def test_piped_a_width_may_be_asked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert max(map(len, run(root / "examples" / "nano-sr")[1].splitlines()[1:])) <= 70


def test_a_crowd_of_files_is_told_in_a_line_unless_asked_for(run_folder: Path) -> None:
    for step in range(9):
        (run_folder / f"model_{step}00.pt").write_bytes(b"x")
    assert "*            checkpoint  9 files: step 0 ... step 800" in run(run_folder)[1]
    assert "model_300.pt" in run(run_folder, "--verbose")[1]


def test_many_runs_are_told_once_more_in_a_line_each(tmp_path: Path) -> None:
    for name, level in (("a", 1), ("b", 3)):
        rows = "".join(f"{step},{level / (step + 1)}\n" for step in range(20))
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text(f"step,loss\n{rows}")
    _, _, last = run(tmp_path)[1].partition("\nRuns\n")
    assert last == (
        "  a  1 log  1 series, 20 points, steps 0 to 19; CSV table\n"
        "  b  1 log  1 series, 20 points, steps 0 to 19; CSV table\n"
        f"\n{tmp_path}: 2 files, 2 runs, 2 logs, 40 points.\n"
    )


def test_hostile_names_are_shown_and_never_act(tmp_path: Path) -> None:
    for name in (b"a\nb.csv", b"\x1b[31mred.csv", "z\u202evil.csv".encode(), b"\xff\xfe.csv", b'q",.csv'):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("step,loss\n1,2\n2,1\n3,1\n")
    for format_ in ("text", "json", "csv"):
        told = run(tmp_path, "--format", format_)[1]
        assert "\x1b" not in told or format_ == "csv"
        assert "\udcff" not in told
    assert r"\x1b[31mred.csv" in run(tmp_path)[1]
    table = list(csv.DictReader(io.StringIO(run(tmp_path, "--format", "csv", "--raw")[1])))
    assert {os.path.relpath(row["file"], tmp_path) for row in table} >= {"a\nb.csv", 'q",.csv'}


def test_links_and_folders_that_were_not_followed_are_named(run_folder: Path) -> None:
    (run_folder / "data").symlink_to("/usr")
    (run_folder / ".git").mkdir()
    told = run(run_folder)[1]
    assert "data: a link out of the folder; not followed" in told
    assert "Not looked into: 1 folder without logs (.git)." in told


# --- exit status and mistakes


def test_without_a_log_the_files_are_listed_and_the_status_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    done = processes.stethoscope("logs", tmp_path)
    assert done.returncode == 2
    assert b"train.py  source" in done.stdout
    assert done.stderr == f"stethoscope: no log found in {tmp_path}.\n".encode()


def test_a_series_that_does_not_exist_is_refused_with_those_that_do(run_folder: Path) -> None:
    with pytest.raises(NothingToRead, match=r"no series is called los. There are loss and 1 more"):
        run(run_folder, "--series", "los")


def test_parquet_needs_a_file(run_folder: Path) -> None:
    with pytest.raises(click.UsageError, match="--output"):
        run(run_folder, "--format", "parquet")


def test_nothing_to_export_writes_no_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    with pytest.raises(NothingToRead, match="no series found"):
        run(tmp_path, "--format", "csv", "--output", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


# --- paths


def test_a_quoted_pattern_and_several_paths_list_each_run(tmp_path: Path) -> None:
    for number, name in enumerate("abc"):
        (tmp_path / name).mkdir()
        rows = "".join(f"{step},{(number + 1) / (step + 1)}\n" for step in range(20))
        (tmp_path / name / "metrics.csv").write_text(f"step,loss\n{rows}")
    pattern = run(tmp_path / "*" / "metrics.csv", "--format", "csv")[1]
    table = list(csv.DictReader(io.StringIO(pattern)))
    assert sorted({row["run"] for row in table}) == [str(tmp_path / name) for name in "abc"]
    paths = [tmp_path / name / "metrics.csv" for name in "abc"]
    assert run(*paths, "--format", "csv")[1] == pattern
    assert run(tmp_path / "**" / "*.csv", "--format", "csv")[1] == pattern


def test_a_pattern_that_matches_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="as a pattern it matches nothing"):
        run(tmp_path / "*.csv")


def test_a_file_named_like_a_pattern_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run[1].csv").write_text("step,loss\n1,2\n2,1\n")
    assert run(tmp_path / "run[1].csv")[0] == 0


def test_a_log_may_come_from_standard_input() -> None:
    done = processes.stethoscope("logs", "-", stdin=b"step,loss\n1,2\n2,1\n3,1\n")
    assert done.returncode == 0
    assert done.stdout.startswith(b"<stdin>: 1 log, 1 series, 3 points, steps 1 to 3\n")


def test_diagnose_takes_several_paths_and_patterns(healthy_run: Path, tmp_path: Path) -> None:
    lines = (healthy_run / "train.csv").read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[:100]))
    (tmp_path / "b.csv").write_text("".join([lines[0], *lines[100:]]))
    done = processes.stethoscope(tmp_path / "*.csv", "--format", "json")
    assert json.loads(done.stdout)["run"]["steps"] == {"first": 0, "last": 199}
    (tmp_path / "c.csv").write_text(
        "".join([lines[0], *(f"{step},{90 - step / 9}\n" for step in range(200))])
    )
    done = processes.stethoscope(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"lead to more than one run" in done.stderr


# --- JSON


def strict(text: str) -> Any:
    """Parse JSON, refusing the words that only Python knows."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_json_is_strict_and_holds_files_series_and_points(run_folder: Path) -> None:
    told = strict(run(run_folder, "--format", "json")[1])
    assert told["schema"] == 1
    (listed,) = told["runs"]
    kinds = {os.path.basename(met["file"]): met["taken_for"] for met in listed["files"]}
    assert kinds == {"train.csv": "log", "config.yaml": "settings", "odd.log": "not read"}
    loss = next(series for series in listed["series"] if series["name"] == "loss")
    assert loss["at"] == [0, 10, 20, 30, 40]
    assert loss["values"] == [0.9, "NaN", "Infinity", "-Infinity", 0.30000000000000004]
    assert (loss["points"], loss["non_finite"], loss["better"]) == (5, 3, "lower")
    assert (loss["min"], loss["max"]) == (0.30000000000000004, 0.9)
    assert [source["logged_as"] for source in loss["sources"]] == ["loss"]


def test_json_may_come_without_points(run_folder: Path) -> None:
    (listed,) = strict(run(run_folder, "--format", "json", "--no-points", "--series", "val/*")[1])["runs"]
    (series,) = listed["series"]
    assert series["name"] == "val/psnr"
    assert "values" not in series


# --- CSV and Parquet


def test_csv_reads_back_as_it_was(run_folder: Path) -> None:
    table = list(csv.DictReader(io.StringIO(run(run_folder, "--format", "csv")[1])))
    loss = [row for row in table if row["series"] == "loss"]
    assert [float(row["value"]) for row in loss[:1] + loss[4:]] == [0.9, 0.30000000000000004]
    assert math.isnan(float(loss[1]["value"]))
    assert [float(row["value"]) for row in loss[2:4]] == [math.inf, -math.inf]
    assert {(row["axis"], row["segment"], row["logged_as"]) for row in loss} == {("step", "1", "loss")}
    assert {row["file"] for row in table} == {str(run_folder / "train.csv")}


def test_rows_know_their_file_and_stretch_after_a_restart(tmp_path: Path) -> None:
    for name, first, last, level in (("a", 0, 30, 1.0), ("b", 20, 50, 1.5)):
        rows = "".join(f"{step},{level / (1 + step)}\n" for step in range(first, last))
        (tmp_path / f"{name}.csv").write_text(f"step,loss\n{rows}")
        os.utime(tmp_path / f"{name}.csv", (last, last))
    table = list(csv.DictReader(io.StringIO(run(tmp_path, "--format", "csv")[1])))
    told = [(int(row["step"]), os.path.basename(row["file"]), row["segment"]) for row in table]
    assert told == [
        *((step, "a.csv", "1") for step in range(20)),
        *((step, "b.csv", "2") for step in range(20, 50)),
    ]
    raw = list(csv.DictReader(io.StringIO(run(tmp_path, "--format", "csv", "--raw")[1])))
    assert [int(row["step"]) for row in raw] == [*range(30), *range(20, 50)]


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_parquet_reads_back_as_it_was(
    run_folder: Path, tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip(library)
    target = tmp_path / "points.parquet"
    if library == "polars":
        monkeypatch.setattr(points_parquet, "_with_pyarrow", without_pyarrow)
    assert run(run_folder, "--format", "parquet", "--output", target)[0] == 0
    table = parquet.read_table(target).to_pydict()
    assert list(table) == ["run", "series", "step", "value", "logged_as", "file", "axis", "segment"]
    assert table["series"] == ["loss"] * 5 + ["val/psnr"] * 5
    np.testing.assert_array_equal(
        table["value"], [0.9, math.nan, math.inf, -math.inf, 0.30000000000000004, 0.1, 0.2, 0.3, 0.4, 0.5]
    )
    assert table["step"] == [0, 10, 20, 30, 40] * 2
    assert table["segment"] == [1] * 10


def without_pyarrow(*_: object) -> None:
    raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")


def test_without_a_library_the_line_to_type_is_said(run_folder: Path, tmp_path: Path) -> None:
    hidden = (
        "import sys; sys.modules.update(pyarrow=None, polars=None); from stethoscope.cli import main; main()"
    )
    target = tmp_path / "points.parquet"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "logs", run_folder, "--format", "parquet", "--output", target],
        capture_output=True,
        env=processes.surroundings(),
        check=False,
    )
    assert done.returncode == 2
    assert b"`pip install pyarrow`" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["nano"]


# --- writing


def test_a_file_is_overwritten_only_when_asked_to(run_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "points.csv"
    target.write_text("mine")
    with pytest.raises(UnwritableFile, match=r"points.csv exists; --force overwrites it"):
        run(run_folder, "--format", "csv", "--output", target)
    assert target.read_text() == "mine"
    assert run(run_folder, "--format", "csv", "--output", target, "--force")[0] == 0
    assert target.read_text().startswith("run,series,step,value,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nano", "points.csv"]


def test_the_text_may_go_to_a_file(run_folder: Path, tmp_path: Path) -> None:
    assert run(run_folder, "--output", tmp_path / "files.txt") == (0, "")
    assert (tmp_path / "files.txt").read_text(encoding="utf-8") == run(run_folder)[1]


def test_a_folder_that_is_not_there_is_said(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"no/such.csv could not be written: no such file"):
        run(run_folder, "--format", "csv", "--output", tmp_path / "no" / "such.csv")
    with pytest.raises(UnwritableFile, match="is a folder"):
        run(run_folder, "--format", "csv", "--output", tmp_path)


def half_written(path: Path, problem: BaseException) -> None:
    with _output.written_whole(str(path)) as stream:
        stream.write(b"half")
        raise problem


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"out.csv could not be written: no space left"):
        half_written(tmp_path / "out.csv", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("before")
    with pytest.raises(KeyboardInterrupt):
        half_written(tmp_path / "out.csv", KeyboardInterrupt())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.csv", "before")]


def test_a_link_keeps_leading_where_it_led(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with _output.written_whole(str(tmp_path / "link.csv")) as stream:
        stream.write(b"after")
    assert (tmp_path / "real.csv").read_text() == "after"
    assert (tmp_path / "link.csv").is_symlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_said_in_one_line(run_folder: Path) -> None:
    done = processes.stethoscope("logs", run_folder, "--format", "csv", "--output", "/dev/full")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"stethoscope: /dev/full could not be written: no space left on device.\n"


@pytest.mark.parametrize("format_", ["text", "csv", "json"])
def test_a_reader_who_leaves_is_no_problem(run_folder: Path, format_: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*processes.COMMAND, "logs", run_folder, "--format", format_],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        env=processes.surroundings(),
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.corpus
def test_the_whole_corpus_is_listed_file_by_file(corpus: Path) -> None:
    told = strict(run(corpus, "--format", "json", "--no-points")[1])
    files = [met for listed in told["runs"] for met in listed["files"]] + told["files"]
    alone = [met for met in files if os.path.isfile(met["file"])]  # the others are folders read as one log
    assert len(alone) == sum(len(names) for _, _, names in os.walk(corpus))
    assert all(met.get("said") or met["taken_for"] != "not read" for met in files)
    assert len(told["runs"]) > 40
