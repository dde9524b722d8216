"""What git says has changed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead
from stethoscope.lint.changed_files import changed_files, is_commit
from tests.lint.trainings import written

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, "-C", folder, *arguments], check=True, capture_output=True)


def names(files: frozenset[Path]) -> set[str]:
    return {path.name for path in files}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A branch with one commit more than the remote's main, and uncommitted work."""
    folder = written(tmp_path / "work", {"kept.py": "", "committed.py": "", "edited.py": "", "gone.py": ""})
    git(tmp_path, "init", "-q", "-b", "main", "work")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    written(folder, {"committed.py": "x = 1\n"})
    git(folder, "commit", "-qam", "two")
    written(
        folder, {"edited.py": "y = 1\n", "a folder/new \u00e9.py": "", ".gitignore": "*.log\n", "a.log": ""}
    )
    (folder / "gone.py").unlink()
    return folder


@needs_git
def test_the_usual_base_is_where_the_branch_left_the_remote(repository: Path) -> None:
    expected = {"committed.py", "edited.py", "new \u00e9.py", ".gitignore", "gone.py"}
    assert names(changed_files(repository)) == expected
    assert names(changed_files(repository / "a folder")) == expected


@needs_git
def test_a_base_can_be_given(repository: Path) -> None:
    assert "committed.py" not in names(changed_files(repository, "HEAD"))
    assert names(changed_files(repository, "origin/main")) == names(changed_files(repository))


@needs_git
def test_without_a_remote_the_last_commit_is_the_base(repository: Path) -> None:
    for name in ("HEAD", "main"):
        git(repository, "update-ref", "--no-deref", "-d", f"refs/remotes/origin/{name}")
    assert names(changed_files(repository)) == {"edited.py", "new \u00e9.py", ".gitignore", "gone.py"}


@needs_git
@pytest.mark.parametrize("base", ["nonsense", "--output=x", "-h", "HEAD; touch x", "$(touch x)"])
def test_what_is_no_commit_is_refused(repository: Path, base: str) -> None:
    with pytest.raises(NothingToRead, match="is no commit, branch or tag"):
        changed_files(repository, base)
    assert not is_commit(repository, base)
    assert not (repository / "x").exists()


@needs_git
def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="is in no git repository"):
        changed_files(tmp_path)


@needs_git
def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(NothingToRead, match="HEAD is no commit"):
        changed_files(tmp_path)


def test_without_git_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NothingToRead, match="needs git, which is not installed"):
        changed_files(tmp_path)


@needs_git
def test_programs_that_a_repository_names_are_not_run(repository: Path) -> None:
    script = repository / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {repository}/ran\n", encoding="utf-8")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external"):
        git(repository, "config", name, str(script))
    changed_files(repository)
    assert not (repository / "ran").exists()
