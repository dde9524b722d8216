"""`stethoscope lint`, as a user, an editor, a hook or a workflow runs it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
import yaml

from tests.cli.processes import stethoscope
from tests.lint.test_changed_files import git
from tests.lint.test_fixing import FIXED
from tests.lint.trainings import HEALTHY, SICK, TEXT_NUMBER, written

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_findings_end_with_one_and_nothing_with_zero(tmp_path: Path) -> None:
    written(tmp_path, {"sick/train.py": SICK, "well/train.py": HEALTHY})
    done = stethoscope("lint", "sick", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"sick/train.py:9:16 COD101 ")
    done = stethoscope("lint", "well", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Nothing found: ")


def test_without_a_path_the_working_directory_is_linted(tmp_path: Path) -> None:
    done = stethoscope("lint", cwd=written(tmp_path, {"train.py": SICK}))
    assert done.stdout.startswith(b"train.py:9:16 COD101 ")


def test_several_paths_and_patterns_are_one_question(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": SICK, "b.py": HEALTHY, "c.yaml": TEXT_NUMBER})
    done = stethoscope("lint", "a.py", "*.yaml", "--format", "json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert [one["where"][0]["file"] for one in told["findings"]] == ["a.py", "c.yaml"]
    assert told["paths"] == ["a.py", "c.yaml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent"], "absent does not exist"),
        (["empty"], "nothing to lint in empty"),
        (["broken.py"], "broken.py could not be read: not valid Python"),
        (["train.py", "--select", "XYZ"], "no rule, family or code begins with XYZ"),
        (["train.py", "--select", "AMP"], "looks at what a run logged"),
        (["train.py", "-"], "standard input, which is examined by itself"),
        (["train.py", "--fix", "--diff"], "--diff shows what --fix would do"),
        (["train.py", "--diff", "--format", "json"], "--diff is a format of its own"),
        (["train.py", "--stdin-filename", "a.py"], "give - as PATH"),
        (["train.py", "--output", "train.py"], "is one of the files examined"),
        (["train.py", "--output", "empty"], "is a folder"),
        (["train.py", "--output", "no/such/folder"], "could not be written"),
        (["train.py", "--format", "xml"], "Invalid value for '--format'"),
        (["train.py", "--changed"], "is in no git repository"),
    ],
)
def test_what_cannot_be_done_ends_with_two(arguments: list[str], said: str, tmp_path: Path) -> None:
    written(tmp_path, {"train.py": HEALTHY, "broken.py": "def f(:\n"})
    (tmp_path / "empty").mkdir()
    done = stethoscope("lint", *arguments, cwd=tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert done.returncode == 2, done.stdout.decode()
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_broken_file_in_a_folder_is_named_and_does_not_hide_the_rest(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": HEALTHY, "broken.py": "def f(:\n", "binary.py": b"\x00\xff"})
    done = stethoscope("lint", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert b"broken.py: not valid Python" in done.stdout


def test_fixes_are_made_and_shown(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": SICK})
    done = stethoscope("lint", "--diff", cwd=tmp_path)
    assert done.returncode == 1
    assert b"-        loss = ssim(output, y)\n+        loss = (1 - ssim(output, y))\n" in done.stdout
    assert (tmp_path / "train.py").read_text() == SICK
    done = stethoscope("lint", "--fix", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"1 finding fixed.\nNothing else found: ")
    assert (tmp_path / "train.py").read_text() == FIXED
    done = stethoscope("lint", "--diff", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert stethoscope("lint", "--fix", cwd=tmp_path).stdout.startswith(b"Nothing found: ")


def test_a_read_only_file_is_not_fixed_and_it_is_said(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": SICK})
    (tmp_path / "train.py").chmod(0o444)
    done = stethoscope("lint", "--fix", cwd=tmp_path)
    assert done.returncode == 2
    assert b"train.py is read-only." in done.stderr
    assert b"COD101" in done.stdout
    assert (tmp_path / "train.py").read_text() == SICK
    assert stat.S_IMODE((tmp_path / "train.py").stat().st_mode) == 0o444


def test_an_editor_hands_over_what_is_not_saved(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": HEALTHY})
    done = stethoscope("lint", "-", "--stdin-filename", "train.py", stdin=SICK.encode(), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith(b"train.py:9:16 COD101 ")
    done = stethoscope("lint", "-", stdin=SICK.encode(), cwd=tmp_path)
    assert done.stdout.startswith(b"<stdin>:9:16 COD101 ")
    done = stethoscope("lint", "-", "--fix", stdin=SICK.replace("\n", "\r\n").encode(), cwd=tmp_path)
    assert done.stdout == FIXED.replace("\n", "\r\n").encode()
    assert b"1 finding fixed." in done.stderr
    assert stethoscope("lint", "-", "--fix", stdin=HEALTHY.encode(), cwd=tmp_path).stdout == HEALTHY.encode()


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_a_report_goes_to_a_file_and_replaces_an_older_one(format_: str, tmp_path: Path) -> None:
    written(tmp_path, {"train.py": SICK, "report": "old"})
    done = stethoscope("lint", "train.py", "--format", format_, "--output", "report", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert "COD101" in (tmp_path / "report").read_text()


def test_a_comment_that_says_nothing_is_complained_about(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": f"x = 1  # stethoscope: ignore[COD999]\n{HEALTHY}"})
    done = stethoscope("lint", "train.py", cwd=tmp_path)
    assert done.returncode == 0
    assert b"train.py:1: # stethoscope: ignore[COD999]: no rule" in done.stderr


def test_wrong_settings_are_an_error_with_a_hint(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": SICK, "pyproject.toml": "[tool.stethoscope.lint]\nignroe = []\n"})
    done = stethoscope("lint", cwd=tmp_path)
    assert done.returncode == 2
    assert b"knows no ignroe; did you mean ignore?" in done.stderr


@needs_git
def test_only_changed_files_are_told_about(tmp_path: Path) -> None:
    helper = "from pytorch_msssim import ssim\n\n\ndef objective(a, b):\n    return ssim(a, b)\n"
    train = SICK.replace("from pytorch_msssim import ssim", "from losses import objective").replace(
        "ssim(output, y)", "1 - objective(output, y)"
    )
    written(tmp_path, {"old.py": SICK, "losses.py": helper, "train.py": train})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    done = stethoscope("lint", "--changed", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    (tmp_path / "train.py").write_text(train.replace("1 - objective", "objective"))
    for arguments in (["--changed"], ["--changed", "HEAD"], ["--changed", "."], [".", "--changed=HEAD"]):
        done = stethoscope("lint", *arguments, "--format", "json", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        told = json.loads(done.stdout)
        assert [one["where"][0]["file"] for one in told["findings"]] == ["train.py"]
    done = stethoscope("lint", "--changed=nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert b"nonsense is no commit" in done.stderr


def test_the_hooks_are_what_pre_commit_reads(root: Path) -> None:
    hooks = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == ["stethoscope lint", "stethoscope lint --fix"]
    for hook in hooks:
        assert {"id", "name", "entry", "language", "types_or"} <= set(hook)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": SICK})
    done = stethoscope("lint", "train.py", "--output", "/dev/full", cwd=tmp_path)
    assert done.returncode == 2
    assert b"no space left on device" in done.stderr.lower()
