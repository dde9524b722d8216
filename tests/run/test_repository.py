"""The repository a run was made in."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.run.repository import repository_of


def test_it_is_the_nearest_project_above_the_run(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    run = tmp_path / "project" / "experiments" / "a"
    run.mkdir(parents=True)
    assert repository_of(run) == tmp_path / "project"


def test_a_run_beside_the_working_directory_does_not_lie_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    assert repository_of(Path("../runs/a")) != tmp_path / "project"
