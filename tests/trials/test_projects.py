"""Copies of projects: what is copied, linked and left out, and that the project itself is never touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stethoscope.errors import StethoscopeError
from stethoscope.trials import projects
from stethoscope.trials.projects import copy_snapshot, hashes, links_changed, planned, taken


def test_source_is_copied_and_what_runs_left_is_not(tmp_path: Path) -> None:
    project = _project(
        tmp_path / "p",
        {
            "train.py": "x = 1",
            "configs/a.yaml": "lr: 1",
            "pkg/mod.py": "",
            "runs/old/train.log": "step 1",
            "train.log": "step 1",
            "model_best.pth": "weights",
            "venv/pyvenv.cfg": "home = x",
            "venv/lib/x.py": "",
            "__pycache__/train.pyc": "",
            "events.out.tfevents.1": "x",
        },
    )
    plan = planned(project)
    assert plan.copied == ["configs/a.yaml", "pkg/mod.py", "train.py"]
    assert plan.linked == []
    assert set(plan.left_out) >= {"runs/", "train.log", "model_best.pth", "venv/", "__pycache__/"}
    copy = tmp_path / "copy"
    taken(plan, copy)
    assert (copy / "train.py").read_text() == "x = 1"
    assert list((copy / "runs").iterdir()) == []  # there for whoever writes into it, and empty


def test_what_git_keeps_is_copied_and_a_folder_it_ignores_is_linked(tmp_path: Path) -> None:
    project = _project(
        tmp_path / "p",
        {
            ".gitignore": "data/\nlocal.yaml\n",
            "train.py": "",
            "data/1.txt": "one",
            "runs/keep.py": "",
            "logs/kept.log": "1",
            "local.yaml": "lr: 1",
        },
    )
    for words in (["init", "-q"], ["add", "-A"], ["add", "-f", "logs/kept.log"]):
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    plan = planned(project)
    assert plan.copied == [".gitignore", "local.yaml", "logs/kept.log", "runs/keep.py", "train.py"]
    assert plan.linked == ["data"]
    copy = taken(plan, tmp_path / "copy").folder
    assert (copy / "data" / "1.txt").read_text() == "one"
    assert os.path.realpath(copy / "data") == os.path.realpath(project / "data")


def test_an_edited_file_is_copied_wherever_it_lies(tmp_path: Path) -> None:
    project = _project(tmp_path / "p", {".gitignore": "configs/\n", "configs/a.yaml": "lr: 1", "a.py": ""})
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    assert planned(project).linked == ["configs"]
    assert "configs/a.yaml" in planned(project, needed=["configs/a.yaml"]).copied


def test_large_files_and_folders_of_data_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "LARGE_FILE", 100)
    monkeypatch.setattr(projects, "MANY_FILES", 3)
    images = {f"images/{number}.png": "x" for number in range(5)}
    sources = {f"src/{number}.py": "x" for number in range(5)}
    project = _project(tmp_path / "p", {"big.npy": "x" * 101, "small.npy": "x", **images, **sources})
    plan = planned(project)
    assert plan.linked == ["big.npy", "images"]
    assert sorted(plan.copied) == sorted([*sources, "small.npy"])


def test_what_is_named_is_linked_or_left_out(tmp_path: Path) -> None:
    project = _project(tmp_path / "p", {"a.py": "", "weights/init.pth": "w", "notes/x.md": "", "b.md": ""})
    plan = planned(project, linked=["weights/init.pth"], left_out=["notes/", "b.md"])
    assert plan.linked == ["weights/init.pth"]
    assert plan.copied == ["a.py"]


def test_a_project_too_large_to_copy_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MOST_COPIED", 10)
    with pytest.raises(StethoscopeError, match="--link"):
        planned(_project(tmp_path / "p", {"a.txt": "x" * 20}))


def test_an_arm_is_written_in_its_copy_alone(tmp_path: Path) -> None:
    project = _project(tmp_path / "p", {"a.py": "a = 1", "b.py": "b = 1", "pkg/c.py": "c = 1"})
    (project / "a.py").chmod(0o444)
    before = hashes(planned(project))
    snapshot = taken(planned(project), tmp_path / "snapshot")
    assert dict(snapshot.manifest) == before
    arm = tmp_path / "arm"
    copy_snapshot(snapshot.folder, arm, {"a.py": b"a = 2", "b.py": None, "new/d.py": b"d = 1"})
    assert (arm / "a.py").read_text() == "a = 2"
    assert not (arm / "b.py").exists()
    assert (arm / "new" / "d.py").read_text() == "d = 1"
    assert hashes(planned(project)) == before
    assert (snapshot.folder / "a.py").read_text() == "a = 1"


def test_writing_into_what_is_linked_is_noticed(tmp_path: Path) -> None:
    project = _project(tmp_path / "p", {"a.py": "", "data/1.txt": "one"})
    plan = planned(project, linked=["data"])
    snapshot = taken(plan, tmp_path / "snapshot")
    assert links_changed(snapshot.manifest, plan) == []
    (snapshot.folder / "data" / "2.txt").write_text("two")
    assert links_changed(snapshot.manifest, plan) == ["data"]


def test_links_of_the_project_lead_where_they_led(tmp_path: Path) -> None:
    elsewhere = _project(tmp_path / "elsewhere", {"x.txt": "x"})
    project = _project(tmp_path / "p", {"a.py": ""})
    (project / "data").symlink_to(elsewhere)
    (project / "broken").symlink_to(tmp_path / "nowhere")
    (project / "loop").symlink_to(project)
    plan = planned(project)
    assert "data" in plan.linked
    assert "broken" in plan.left_out
    copy = taken(plan, tmp_path / "copy").folder
    assert (copy / "data" / "x.txt").read_text() == "x"


def _project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
