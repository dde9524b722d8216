"""Settings in pyproject.toml and stethoscope.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.errors import UnknownRule, UnreadableFile
from stethoscope.lint.settings import LintSettings, settings_above
from stethoscope.trajectory import read_file
from tests.lint.trainings import written


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "pyproject.toml": '[tool.stethoscope.lint]\nselect = ["SET"]\n',
            "a/pyproject.toml": "[tool.other]\n",
            "b/stethoscope.toml": '[lint]\nignore = ["COD101"]\n',
            "b/pyproject.toml": '[tool.stethoscope.lint]\nselect = ["COD"]\n',
        },
    )
    assert settings_above(tmp_path / "a").select == ("SET",)
    assert settings_above(tmp_path / "b" / "c").ignore == ("COD101",)
    assert settings_above(tmp_path / "b").select == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.stethoscope.lint]\nselct = []\n", "knows no selct; did you mean select?"),
        ("[tool.stethoscope.lint]\nper_file_ignores = {}\n", "did you mean per-file-ignores?"),
        ("[tool.stethoscope.lint]\nfoo = 1\n", "knows no foo; there are select, ignore, exclude"),
        ("[tool.stethoscope]\nselect = []\n", r"select belongs under \[tool.stethoscope.lint\]"),
        ('[tool.stethoscope.lint]\nselect = "SET"\n', "is a list of texts"),
        ("[tool.stethoscope.lint]\nper-file-ignores = []\n", "maps patterns to rules"),
        ("[tool.stethoscope.lint\n", "not valid TOML"),
        ("[tool.stethoscope]\nlint = 3\n", "is a table of settings, not 3"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str, tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": text})
    with pytest.raises(UnreadableFile, match=said):
        settings_above(tmp_path)


def test_a_rule_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"stethoscope.toml": '[lint]\nignore = ["SET999"]\n'})
    with pytest.raises(UnknownRule, match=r"stethoscope.toml: ignore: .* SET999"):
        settings_above(tmp_path)


def test_somebody_elses_broken_pyproject_is_not_our_trouble(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": "[[[\n"})
    assert settings_above(tmp_path).file == ""


@pytest.mark.parametrize(
    ("pattern", "file", "excluded"),
    [
        ("old", "old/train.py", True),
        ("old/**", "old/a/train.py", True),
        ("old/*.py", "old/train.py", True),
        ("*.py", "a/b/train.py", True),
        ("train.py", "a/train.py", True),
        ("a/train.py", "b/a/train.py", False),
        ("**/gen/*.py", "x/gen/a.py", True),
        ("./old/", "old/train.py", True),
        ("old", "older/train.py", False),
    ],
)
def test_patterns_are_relative_to_the_settings(pattern: str, file: str, excluded: bool) -> None:
    settings = LintSettings("x", Path("/project"), exclude=(pattern,))
    assert settings.excludes(Path("/project") / file) is excluded


def test_a_trajectory_may_stand_in_the_same_file(tmp_path: Path) -> None:
    course = 'schema = 1\n[run]\nname = "nano"\nsteps = 10\n'
    (tmp_path / "stethoscope.toml").write_text(course)
    assert settings_above(tmp_path).select == ()
    (tmp_path / "stethoscope.toml").write_text(course + '[lint]\nselect = ["LOP"]\n')
    assert settings_above(tmp_path).select == ("LOP",)
    assert read_file(str(tmp_path / "stethoscope.toml")).name == "nano"
