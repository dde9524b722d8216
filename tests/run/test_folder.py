"""A walk stays in the folder it was sent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.run.folder import LINK_OUT, walk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A run beside a folder that is none of its business."""
    (tmp_path / "run" / "logs").mkdir(parents=True)
    (tmp_path / "run" / "logs" / "train.csv").write_text("step,loss\n1,2\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.csv").write_text("step,loss\n1,2\n")
    return tmp_path


def names(folder: Path) -> list[str]:
    return [entry.file for entry in walk(folder, "run").files]


def passed_over(folder: Path) -> dict[str, str]:
    return {one.file: one.reason for one in walk(folder, "run").unread}


def test_a_link_out_of_the_folder_is_named_and_not_followed(tree: Path) -> None:
    (tree / "run" / "data").symlink_to(tree / "elsewhere")
    (tree / "run" / "other.csv").symlink_to("../elsewhere/secret.csv")
    assert names(tree / "run") == ["run/logs/train.csv"]
    assert passed_over(tree / "run") == {"run/other.csv": LINK_OUT, "run/data": LINK_OUT}


def test_a_folder_that_only_begins_with_the_same_letters_is_elsewhere(tree: Path) -> None:
    (tree / "run-2").mkdir()
    (tree / "run-2" / "b.csv").write_text("step,loss\n")
    (tree / "run" / "b.csv").symlink_to(tree / "run-2" / "b.csv")
    assert passed_over(tree / "run") == {"run/b.csv": LINK_OUT}


def test_a_link_within_the_folder_is_followed(tree: Path) -> None:
    (tree / "run" / "latest.csv").symlink_to("logs/train.csv")
    assert names(tree / "run") == ["run/latest.csv", "run/logs/train.csv"]
    assert passed_over(tree / "run") == {}


def test_a_link_that_was_itself_given_is_followed(tree: Path) -> None:
    (tree / "given").symlink_to("run")
    assert names(tree / "given") == ["run/logs/train.csv"]


def test_a_folder_is_known_by_its_own_name_before_that_of_a_link_to_it(tree: Path) -> None:
    (tree / "run" / "a-link").symlink_to("logs")
    assert names(tree / "run") == ["run/logs/train.csv"]


def test_a_link_that_leads_out_by_a_link_within_is_not_followed(tree: Path) -> None:
    (tree / "run" / "one").symlink_to("two")
    (tree / "run" / "two").symlink_to(tree / "elsewhere")
    assert passed_over(tree / "run") == {"run/one": LINK_OUT, "run/two": LINK_OUT}


def test_folders_of_no_run_are_named_as_passed(tree: Path) -> None:
    for name in (".git", "__pycache__", "logs/node_modules"):
        (tree / "run" / name).mkdir()
    assert walk(tree / "run", "run").passed == ("run/.git", "run/__pycache__", "run/logs/node_modules")
