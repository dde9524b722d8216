"""Several things trained side by side in one text log."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.run import Series


def _series(tmp_path: Path, *lines: str) -> dict[str, Series]:
    told = [
        line.format(step=step, slow=4 - step / 200, fast=2 - step / 200)
        for step in range(0, 300, 10)
        for line in lines
    ]
    (tmp_path / "run.log").write_text("\n".join(told) + "\n", encoding="utf-8")
    return dict(read([tmp_path], None, None).series)


@pytest.mark.parametrize(
    "form", ["[{who}] step {{step}} loss {{{curve}}}", "{who} step {{step}}/300 loss {{{curve}}}"]
)
def test_what_two_networks_log_is_kept_apart(tmp_path: Path, form: str) -> None:
    lines = (form.format(who="teacher", curve="fast"), form.format(who="student", curve="slow"))
    series = _series(tmp_path, *lines)
    assert series["loss/teacher"].values[0] == 2.0
    assert series["loss/student"].values[0] == 4.0
    assert len(series["loss/teacher"]) == len(series["loss/student"]) == 30


def test_a_tag_behind_the_counter_names_what_follows(tmp_path: Path) -> None:
    series = _series(tmp_path, "step {step} [D] loss {fast}", "step {step} [G] loss {slow}")
    assert series["loss/d"].values[-1] == pytest.approx(0.55)
    assert series["loss/g"].values[-1] == pytest.approx(2.55)


def test_phases_that_follow_each_other_are_one_curve(tmp_path: Path) -> None:
    told = [
        f"[{'warm-up' if step < 100 else 'main'}] step {step} loss {4 - step / 200}"
        for step in range(0, 300, 10)
    ]
    (tmp_path / "run.log").write_text("\n".join(told) + "\n", encoding="utf-8")
    assert len(read([tmp_path], None, None).series["loss"]) == 30


def test_words_before_a_dict_say_on_which_data_it_was_measured(tmp_path: Path) -> None:
    told = []
    for step in range(0, 300, 10):
        told.append(f"Iter {step}: {{'loss': {4 - step / 200}, 'lr': 0.001}}")
        told += [f"Validation: {{'loss': {5 - step / 200}, 'mae': 0.5}}"] if step % 50 == 40 else []
    (tmp_path / "run.log").write_text("\n".join(told) + "\n", encoding="utf-8")
    series = read([tmp_path], None, None).series
    assert (len(series["loss"]), len(series["val/loss"])) == (30, 6)
    assert int(series["val/loss"].steps[-1]) == 290


def test_a_letter_behind_a_role_is_a_loss(tmp_path: Path) -> None:
    series = _series(tmp_path, "it={step} L={slow}", "it={step} val_L={fast}")
    assert series["val/loss"].values[0] == 2.0
