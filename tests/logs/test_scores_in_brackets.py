"""A score in a bracket is of the data that the number before the bracket is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.run import Run


def _read(folder: Path, lines: list[str]) -> Run:
    (folder / "log.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read([folder])


def test_the_only_score_is_of_the_number_before_its_bracket(tmp_path: Path) -> None:
    lines = [
        f"[ep {n:03d}] train {2 / n:.4f}  valid {2.2 / n:.4f} (acc {10 * n}.0%)  3.{n}s" for n in range(1, 9)
    ]
    series = _read(tmp_path, lines).series
    assert {"loss", "val/loss", "val/accuracy"} == set(series)


def test_every_score_of_a_bracket_is_of_the_same_data(tmp_path: Path) -> None:
    lines = [
        f"Epoch {n}: train loss {2 / n:.4f} (acc {n / 9:.3f}), val loss {2.2 / n:.4f} "
        f"(acc {n / 10:.3f}, f1 {n / 11:.3f})"
        for n in range(1, 9)
    ]
    series = _read(tmp_path, lines).series
    assert {"train/accuracy", "val/accuracy", "val/f1"} <= set(series)


def test_an_unnamed_loss_beside_a_named_score_need_not_fall(tmp_path: Path) -> None:
    lines = [
        f"[ep {n:03d}] train 2.4{n % 3}1 (acc 9.{n}%)  valid 2.4{n % 2}7 (acc 10.{n}%)" for n in range(1, 12)
    ]
    series = _read(tmp_path, lines).series
    assert {"loss", "val/loss"} <= set(series)


@pytest.mark.parametrize(
    ("line", "name"),
    [("ep={n};it={n}0;VAL;vloss={v};vauc=0.{n}1", "val/loss"), ("it {n}0 main/loss {v}", "loss")],
)
def test_glued_and_chainer_names_are_read(tmp_path: Path, line: str, name: str) -> None:
    lines = [line.format(n=n, v=f"{2.5 / n:.4f}") for n in range(1, 10)]
    assert name in _read(tmp_path, lines).series
