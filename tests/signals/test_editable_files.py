"""Values of settings that are given others."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.signals.editable_files import EditableFiles, measure, off, on, plain
from stethoscope.signals.missing import Missing


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        ("a.yaml", "lr: 1  # high\nseed: 3\n", "lr: 0.5  # high\nseed: 3\n"),
        ("a.toml", "lr = 1 # high\n", "lr = 0.5 # high\n"),
        ("config.json", '{"lr": 1, "seed": 3}', '{"lr": 0.5, "seed": 3}'),
    ],
)
def test_a_value_is_replaced_where_it_stands(file: str, text: str, after: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    run = read(tmp_path)
    files = measure(run)
    assert isinstance(files, EditableFiles)
    assert run.recipe is not None
    (setting,) = run.recipe.named("lr")
    splice = files.splice(setting, 0.5)
    assert splice is not None
    assert text[: splice.start] + splice.text + text[splice.end :] == after


def test_a_text_in_quotes_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('lr: "1"\n')
    run = read(tmp_path)
    files = measure(run)
    assert isinstance(files, EditableFiles)
    assert run.recipe is not None
    assert files.splice(run.recipe.named("lr")[0], 0.5) is None


def test_nothing_to_edit_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("step,loss\n0,1\n1,0.5\n")
    assert isinstance(measure(read(tmp_path)), Missing)


def test_numbers_are_written_without_an_exponent() -> None:
    assert [plain(number) for number in (3.0, 0.998, 1e-5)] == ["3", "0.998", "0.00001"]


def test_switches_keep_their_words(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: true\nb: True\nc: no\n")
    recipe = read(tmp_path).recipe
    assert recipe is not None
    assert [off(one) for one in recipe.named("a", "b")] == ["false", "False"]
    assert on(recipe.named("c")[0]) == "yes"
