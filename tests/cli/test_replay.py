"""`stethoscope replay`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from stethoscope.cli.replay import command
from stethoscope.errors import StethoscopeError
from tests.cli.processes import stethoscope

BOX = "examples/overflow/blackbox-step000002"
BUILD = "examples/overflow/net.py:build"


@pytest.fixture
def here(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs in this process, in the root of the project."""
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", [*sys.path])


def run(*arguments: str) -> tuple[object, str]:
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    if done.exception:
        raise done.exception
    return done.return_value, done.stdout


def test_the_example_is_repeated(root: Path) -> None:
    done = stethoscope("replay", BOX, "--build", BUILD, cwd=root)
    told = done.stdout.decode()
    assert done.returncode == 1
    assert done.stderr == b""
    assert told.startswith("Step 2: the fault was repeated\n")
    assert "overflows in half precision only: first in" in told
    assert "blocks.2.down  Linear   float16  infinity            3.18e+05" in told


def test_the_json_twin_has_the_same_numbers(here: None) -> None:
    status, written = run(BOX, "--build", BUILD, "--format", "json")
    told = json.loads(written)
    assert status == 1
    assert told["schema"] == 1
    assert told["repeated"] is True
    assert told["forward"]["first_bad"]["module"] == "blocks.2.down"
    assert told["forward"]["first_bad"]["limit"] == 65504.0
    assert told["backward"]["loss"] == "nan"


def test_another_precision_is_finite_and_shows_gradients(here: None) -> None:
    status, written = run(BOX, "--build", BUILD, "--half", "bfloat16")
    assert status == 0
    assert written.startswith("Step 2: no fault this time\n")
    assert "Worst gradients (bfloat16 autocast on cpu)" in written


def test_a_module_is_found_in_the_working_directory_and_its_prints_are_no_report(
    here: None, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (root / "examples/overflow/net.py").read_text() + "\nprint('building')\n"
    (tmp_path / "module_of_mine.py").write_text(source)
    shutil.copytree(root / BOX, tmp_path / "box")
    monkeypatch.chdir(tmp_path)
    arguments = ["box", "--build", "module_of_mine:build", "--format", "json"]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert json.loads(done.stdout)["step"] == 2
    assert done.stderr == "building\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "--build", BUILD), "nothing does not exist"),
        ((BOX, "--build", "build"), "is no module:function"),
        ((BOX, "--build", "tests/nowhere.py:build"), "could not be imported: FileNotFoundError"),
        ((BOX, "--build", "nowhere_to_be_found:build"), "No module named 'nowhere_to_be_found'"),
        ((BOX, "--build", "examples/overflow/net.py:make"), "has no function make"),
        ((BOX, "--build", BUILD, "--device", "abacus"), "the device abacus cannot be used"),
        (("examples/overflow", "--build", BUILD), "is no black box that can be read"),
    ],
)
def test_what_cannot_be_replayed_is_said(arguments: Sequence[str], message: str, here: None) -> None:
    with pytest.raises(StethoscopeError, match=message):
        run(*arguments)
