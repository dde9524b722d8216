"""`stethoscope triage` as a person calls it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.processes import stethoscope
from tests.compare.runs import losses, write


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triage")
    broken = losses(1)
    broken[150:] = np.nan
    write(folder / "runs" / "well", losses(1))
    write(folder / "runs" / "broken", broken)
    stethoscope("triage", folder / "runs", "--cache", folder / "cache")
    return folder


def test_the_table_has_a_line_for_each_run_the_sickest_first(tree: Path) -> None:
    done = stethoscope("triage", tree / "runs", "--cache", tree / "cache", COLUMNS="100")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert lines[0].startswith("2 runs below")
    assert [line.split()[1] for line in lines[2:4]] == ["broken", "well"]
    assert max(map(len, lines[1:])) <= 100
    assert done.stderr == b""


def test_programs_get_the_same_as_json_and_csv(tree: Path) -> None:
    told = json.loads(
        stethoscope("triage", tree / "runs", "--cache", tree / "cache", "--format", "json").stdout
    )
    rows = stethoscope("triage", tree / "runs", "--cache", tree / "cache", "--format", "csv").stdout.decode()
    assert [one["name"] for one in told["runs"]] == ["broken", "well"]
    listed = list(csv.DictReader(io.StringIO(rows)))
    assert [row["path"] for row in listed] == [one["path"] for one in told["runs"]]
    assert listed[0]["last_step"] == "1990"


def test_filters_and_limits_choose_lines_and_leave_the_status(tree: Path) -> None:
    told = stethoscope(
        *("triage", tree / "runs", "--cache", tree / "cache", "--verdict", "healthy", "--limit", "1"),
        *("--format", "markdown"),
    )
    assert told.returncode == 1
    assert b"well" in told.stdout
    assert b"/broken" not in told.stdout


def test_redacted_lines_name_no_folder(tree: Path) -> None:
    told = stethoscope(
        "triage", tree / "runs", "--cache", tree / "cache", "--redact", "--format", "json"
    ).stdout
    assert str(tree).encode() not in told
    assert b"/well" in told


def test_a_folder_without_runs_is_one_sentence(tmp_path: Path) -> None:
    done = stethoscope("triage", tmp_path, "--no-cache")
    assert done.returncode == 2
    assert done.stderr.decode().startswith("stethoscope: no run found below")
    assert len(done.stderr.splitlines()) == 1


def test_a_cache_that_cannot_be_used_is_said_and_the_work_is_done(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = stethoscope("triage", tree / "runs" / "well", "--cache", tmp_path / "file")
    assert done.returncode == 0
    assert b"nothing is remembered" in done.stderr
