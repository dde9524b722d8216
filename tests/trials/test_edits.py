"""Edits of settings, texts, flags and patches: what they change, and what they leave alone."""

from __future__ import annotations

import ast
import json
import subprocess
import tomllib
from difflib import unified_diff
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.errors import StethoscopeError
from stethoscope.trials import Change, Comment, Edit, Flag, NewValue, Patch, Replacement, Variable
from stethoscope.trials.edits import Edited, edited, placebo_for
from stethoscope.trials.patching import parsed, patched

YAML = """\
# how we train
train:
  lr: 1e-3  # the rate
  optim: {type: AdamW, betas: [0.9, 0.999]}
val:
  lr: 5   # not the rate
name: "a # b"
"""


def test_a_setting_changes_and_every_other_character_stays() -> None:
    after = _text("cfg.yaml", YAML, NewValue("train.lr", "3e-4"))
    assert after == YAML.replace("1e-3", "3e-4")
    assert yaml.safe_load(after)["train"]["lr"] == "3e-4"  # as YAML 1.1 reads it, dot or no dot


def test_the_end_of_a_key_is_enough_where_only_one_setting_has_it() -> None:
    assert _text("cfg.yaml", YAML, NewValue("betas.1", "0.95")) == YAML.replace("0.999", "0.95")


def test_a_key_that_several_settings_have_must_be_given_whole() -> None:
    with pytest.raises(StethoscopeError, match=r"2 settings called lr: train\.lr, val\.lr"):
        _text("cfg.yaml", YAML, NewValue("lr", "1"))


def test_a_setting_that_does_not_exist_is_an_error_that_names_its_neighbours() -> None:
    with pytest.raises(StethoscopeError, match=r"has no setting train\.lrr.*train\.lr"):
        _text("cfg.yaml", YAML, NewValue("train.lrr", "1"))


def test_a_value_that_is_there_already_changes_nothing_and_is_refused() -> None:
    with pytest.raises(StethoscopeError, match="already, so this changes nothing"):
        _text("cfg.yaml", YAML, NewValue("train.optim.type", "AdamW"))


def test_a_value_that_would_break_the_file_is_refused() -> None:
    with pytest.raises(StethoscopeError, match=r"cfg\.yaml"):
        _text("cfg.yaml", YAML, NewValue("train.lr", "{a: 1"))
    with pytest.raises(StethoscopeError, match="no single value"):
        _text("cfg.yaml", YAML, NewValue("train.lr", "{a: 1}"))


@pytest.mark.parametrize(
    ("value", "loaded"), [("0.5", 0.5), ("true", True), ("cosine", "cosine"), ('"two words"', "two words")]
)
def test_toml_and_json_get_values_of_their_own_kind(value: str, loaded: object) -> None:
    toml = '[train]\nschedule = "linear"  # kept\nsteps = 10\n'
    after = _text("cfg.toml", toml, NewValue("train.schedule", value))
    assert tomllib.loads(after)["train"] == {"schedule": loaded, "steps": 10}
    assert "# kept" in after
    after = _text("cfg.json", '{"train": {"schedule": "linear", "steps": 10}}', NewValue("schedule", value))
    assert json.loads(after) == {"train": {"schedule": loaded, "steps": 10}}


def test_python_settings_are_edited_by_their_names() -> None:
    after = _text("config.py", "lr = 1e-3  # rate\nname = 'a'\n", NewValue("lr", "3e-4"))
    assert after == "lr = 3e-4  # rate\nname = 'a'\n"


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    content = b"\xef\xbb\xbflr: 1\r\nsteps: 2\r\n"
    made = _edited({"cfg.yaml": content}, NewValue("lr", "7", "cfg.yaml"))
    assert made.files == {"cfg.yaml": b"\xef\xbb\xbflr: 7\r\nsteps: 2\r\n"}


def test_a_text_is_replaced_where_it_occurs_once() -> None:
    assert _text("loss.py", "return ssim\n", Replacement("loss.py", "return ssim", "return 1 - ssim")) == (
        "return 1 - ssim\n"
    )
    with pytest.raises(StethoscopeError, match="is there 2 times"):
        _text("loss.py", "x\nx\n", Replacement("loss.py", "x", "y"))
    with pytest.raises(StethoscopeError, match="is there 0 times"):
        _text("loss.py", "x\n", Replacement("loss.py", "z", "y"))


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (("t", "--lr", "1e-3", "--amp"), ("t", "--lr", "1e-4", "--amp")),
        (("t", "--lr=1e-3"), ("t", "--lr=1e-4")),
        (("t", "--lr", "-1", "-x"), ("t", "--lr", "1e-4", "-x")),
        (("t", "--amp"), ("t", "--amp", "--lr=1e-4")),
        (("t", "--lrx", "1"), ("t", "--lrx", "1", "--lr=1e-4")),
    ],
)
def test_an_option_is_replaced_or_added(command: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert _edited({}, Flag("--lr", "1e-4"), command=command).command == after


def test_an_option_without_a_value_is_added_once() -> None:
    assert _edited({}, Flag("--amp"), command=("t",)).command == ("t", "--amp")
    with pytest.raises(StethoscopeError, match="already"):
        _edited({}, Flag("--amp"), command=("t", "--amp"))
    with pytest.raises(StethoscopeError, match="already"):
        _edited({}, Flag("--lr", "1"), command=("t", "--lr", "1"))


def test_changes_are_made_one_after_another_and_those_that_clash_are_named() -> None:
    first = Change("first", (NewValue("lr", "2", "c.yaml"),))
    second = Change("second", (Replacement("c.yaml", "steps: 5", "steps: 6"), Variable("FAST", "1")))
    made = edited({"c.yaml": b"lr: 1\nsteps: 5\n"}.get, ("t",), (), (first, second))
    assert made == Edited({"c.yaml": b"lr: 2\nsteps: 6\n"}, ("t",), {"FAST": "1"})
    clashing = Change("clashing", (Replacement("c.yaml", "lr: 1", "lr: 3"),))
    with pytest.raises(StethoscopeError, match="the change clashing cannot be made"):
        edited({"c.yaml": b"lr: 1\n"}.get, ("t",), (), (first, clashing))


@pytest.mark.parametrize(
    ("file", "text", "load"),
    [
        ("c.yaml", "a: 1\nb: |\n  text\n  more", yaml.safe_load),
        ("c.toml", "a = 1", tomllib.loads),
        ("c.json", '{"a": 1}\n', json.loads),
        ("c.py", "a = 1\nif a:\n    b = 2", lambda text: ast.dump(ast.parse(text))),
    ],
)
def test_the_placebo_changes_the_file_and_not_what_it_says(file: str, text: str, load) -> None:
    after = _text(file, text, Comment(file))
    assert after != text
    assert load(after) == load(text)


def test_the_placebo_is_made_where_the_changes_are_and_says_what_it_is() -> None:
    in_file = placebo_for([Change("a", (Flag("--x"),)), Change("b", (NewValue("lr", "1"),))], "c.yaml")
    assert in_file.edits == (Comment("c.yaml"),)
    assert in_file.title == "a comment in c.yaml"
    elsewhere = placebo_for([Change("a", (Flag("--x"),))])
    assert elsewhere.title == "an environment variable that nothing reads"


# --- patches ------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  x = 1", "--- y", "+++ z", "@@ w"]), max_size=14)


@given(LINES, LINES)
def test_a_patch_makes_the_one_text_of_the_other(before: list[str], after: list[str]) -> None:
    old, new = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    diff = "".join(unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f"))
    if diff:
        (patch,) = parsed(diff)
        assert patched(old, patch) == new


def test_a_patch_does_what_git_does(tmp_path: Path) -> None:
    """Several files, one made, one removed, one without an end of its last line, lines that moved."""
    before = {"a.py": "one\ntwo\nthree\n", "gone.py": "x\n", "end.py": "first\nlast"}
    after = {"a.py": "one\n2\nthree\n", "made.py": "hello\n", "end.py": "first\nlast\nmore"}
    repository = tmp_path / "git"
    _write(repository, before)
    _git(repository, "init", "-q")
    _git(repository, "add", "-A")
    _git(repository, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "Before")
    _write(repository, after)
    (repository / "gone.py").unlink()
    _git(repository, "add", "-A")
    diff = _git(repository, "diff", "--cached", "--no-color")
    moved = before | {"a.py": "zero\n" + before["a.py"]}
    made = _edited({name: text.encode() for name, text in moved.items()}, Patch(diff))
    assert made.files == {
        "a.py": b"zero\none\n2\nthree\n",
        "gone.py": None,
        "made.py": b"hello\n",
        "end.py": b"first\nlast\nmore",
    }


def test_a_patch_keeps_the_line_ends_of_the_file() -> None:
    (patch,) = parsed("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    assert patched("one\r\ntwo\r\nthree\r\n", patch) == "one\r\n2\r\nthree\r\n"


def test_a_patch_that_does_not_fit_says_where() -> None:
    (patch,) = parsed("--- a/f.py\n+++ b/f.py\n@@ -4,2 +4,2 @@\n one\n-two\n+2\n")
    with pytest.raises(StethoscopeError, match=r"f\.py: the patch does not apply at line 4: 'one'"):
        patched("other\n", patch)


@pytest.mark.parametrize("text", ["", "hello", "--- a\n+++ b\n", "--- a\n"])
def test_what_is_no_patch_is_said_to_be_none(text: str) -> None:
    with pytest.raises(StethoscopeError):
        parsed(text)


def _text(file: str, text: str, edit: Edit) -> str:
    made = _edited({file: text.encode()}, edit, config=file)
    content = made.files[file]
    assert content is not None
    return content.decode()


def _edited(
    files: dict[str, bytes], edit: Edit, command: tuple[str, ...] = ("t",), config: str = ""
) -> Edited:
    return edited(files.get, command, (), (Change("change", (edit,)),), config)


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout
