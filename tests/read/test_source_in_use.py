"""Which source a run used: its own, its snapshot, or the script of its repository."""

from __future__ import annotations

from pathlib import Path

from stethoscope.read import read

CSV = "step,loss,weird_name\n0,0.9,1\n10,0.8,1\n20,0.7,1\n"
TRAIN = """\
import torch
from lib import helper


def main():
    helper.step().backward()


if __name__ == '__main__':
    main()
"""


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def modules(path: Path) -> tuple[str, list[str], bool] | None:
    program = read(path).program
    return None if program is None else (program.origin, [s.module for s in program], program.maintained)


def test_a_snapshot_in_the_run_is_a_record(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "code" / "train.py", TRAIN)
    write(tmp_path / "code" / "lib" / "helper.py")
    assert modules(tmp_path) == ("snapshot", ["train", "lib.helper"], False)


def test_source_at_the_top_of_the_run_is_maintained(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", CSV)
    write(tmp_path / "train.py", TRAIN)
    write(tmp_path / "tests" / "test_train.py")
    assert modules(tmp_path) == ("run", ["train"], True)


def test_the_repositorys_only_training_script_and_its_imports_are_taken(tmp_path: Path) -> None:
    write(tmp_path / "requirements.txt", "torch")
    write(tmp_path / "train.py", TRAIN)
    write(tmp_path / "lib" / "__init__.py")
    write(tmp_path / "lib" / "helper.py", "from .deep import step\n")
    write(tmp_path / "lib" / "deep.py")
    write(tmp_path / "lib" / "unrelated.py")
    write(tmp_path / "plot.py", "if __name__ == '__main__':\n    pass\n")
    write(tmp_path / "runs" / "a" / "train.csv", CSV)
    found = modules(tmp_path / "runs" / "a")
    assert found == ("repository", ["lib", "lib.deep", "lib.helper", "train"], True)


def test_of_several_scripts_the_one_that_logs_these_names_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    write(tmp_path / "a.py", TRAIN)
    write(tmp_path / "b.py", TRAIN + "LOGGED = 'weird_name'\n")
    write(tmp_path / "runs" / "x" / "train.csv", CSV)
    assert modules(tmp_path / "runs" / "x") == ("repository", ["b"], True)


def test_of_several_scripts_without_a_sign_none_is_taken_and_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    write(tmp_path / "a.py", TRAIN)
    write(tmp_path / "b.py", TRAIN)
    write(tmp_path / "runs" / "x" / "train.csv", CSV)
    run = read(tmp_path / "runs" / "x")
    assert run.program is None
    assert "2 training scripts" in run.unread[0].reason
    assert "give it by --code" in run.unread[0].reason


def test_nothing_is_taken_from_above_without_a_project(tmp_path: Path) -> None:
    write(tmp_path / "train.py", TRAIN)
    write(tmp_path / "runs" / "x" / "train.csv", CSV)
    assert modules(tmp_path / "runs" / "x") is None


def test_a_script_buried_in_a_library_is_not_taken_without_a_sign(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml")
    write(tmp_path / "src" / "library" / "extras" / "cases" / "train.py", TRAIN)
    write(tmp_path / "runs" / "x" / "train.csv", CSV)
    assert modules(tmp_path / "runs" / "x") is None
    write(tmp_path / "src" / "library" / "extras" / "cases" / "train.py", TRAIN + "NAME = 'weird_name'\n")
    assert modules(tmp_path / "runs" / "x") == ("repository", ["src.library.extras.cases.train"], True)
