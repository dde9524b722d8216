"""What bars show, in whatever way a script hands it to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.logs import read_log
from stethoscope.run import Log

LOSS = [2 / (i + 1) for i in range(12)]


def bar(at: int, all_: int, shown: str = "", title: str = "") -> str:
    speed = "[00:10<01:00,  1.50it/s" + (f", {shown}]" if shown else "]")
    return f"\r{title}{100 * at // all_:3d}%|#####     | {at}/{all_} {speed}"


def log_of(tmp_path: Path, text: str) -> Log:
    (tmp_path / "x.log").write_text(text, newline="", encoding="utf-8")
    log = read_log(tmp_path / "x.log")
    assert log.format == "progress bar"
    return log


def points(log: Log, name: str) -> list[tuple[int, float]]:
    found = [s for s in log.series if s.name == name]
    assert len(found) == 1, [(s.name, s.logged_as) for s in log.series]
    return list(zip(found[0].steps.tolist(), found[0].values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("shown", "name", "value"),
    [
        ("Loss={loss:.4f}, Depth Loss=0.0000", "loss/depth", 0.0),
        ("loss={loss:.4f}, aux loss=0.010, reg loss=0.000", "loss/aux", 0.01),
        ("loss={loss:.4f}, best loss=0.412", "best loss", 0.412),
        ("train loss={loss:.4f}, val loss=2.411", "val/loss", 2.411),
        ("loss={loss:.4f}, acc=0.102, val acc=0.105", "val/accuracy", 0.105),
        ("avr_loss={loss:.4f}, lr=0.003", "lr", 0.003),
        ("moving avg loss={loss:.4f}, lr=0.003", "lr", 0.003),
        ("loss: {loss:.4f} acc: 0.102", "train/accuracy", 0.102),
    ],
)
def test_names_of_several_words(tmp_path: Path, shown: str, name: str, value: float) -> None:
    text = "".join(bar(i + 1, 12, shown.format(loss=LOSS[i])) for i in range(12))
    log = log_of(tmp_path, text)
    assert points(log, "loss") == [(i + 1, round(LOSS[i], 4)) for i in range(12)]
    assert points(log, name)[0] == (1, value)


def test_the_generator_and_the_discriminator_are_two(tmp_path: Path) -> None:
    text = "".join(bar(i + 1, 12, f"G loss={LOSS[i]:.3f}, D loss=0.693") for i in range(12))
    assert {"loss/g", "loss/d"} <= {s.name for s in log_of(tmp_path, text).series}


def test_values_in_the_description(tmp_path: Path) -> None:
    text = "".join(
        bar(i, 12, title=f"Loss {LOSS[i]:.4f} | Val {1.1 * LOSS[i]:.4f}: ")
        + bar(i + 1, 12, title=f"Loss {LOSS[i]:.4f} | Val {1.1 * LOSS[i]:.4f}: ")
        for i in range(12)
    )
    log = log_of(tmp_path, text)
    assert points(log, "loss")[0] == (0, 2.0)
    assert points(log, "loss")[-1] == (12, round(LOSS[-1], 4))
    assert points(log, "val/loss")[0] == (0, 2.2)


def test_a_value_shown_before_the_bar_moves_is_that_of_where_it_moves(tmp_path: Path) -> None:
    drawn = [(10 * i, LOSS[i]) for i in range(12)], [(10 * i + 10, LOSS[i]) for i in range(12)]
    pairs = [pair for both in zip(*drawn, strict=True) for pair in both]
    del pairs[5]  # not every move is drawn
    text = "".join(bar(at, 120, f"Loss={loss:.4f}") for at, loss in pairs)
    assert points(log_of(tmp_path, text), "loss")[:2] == [(10, 2.0), (20, 1.0)]


def test_lines_between_bars_tell_of_validations(tmp_path: Path) -> None:
    text = ""
    for epoch in range(3):
        text += "".join(bar(10 * epoch + i + 1, 30, f"loss={LOSS[i]:.3f}") for i in range(10))
        text += f"\nEpoch {epoch + 1}/3 val_loss=0.49{epoch}\n"
        text += f"\n[ITER {10 * epoch + 10}] Evaluating test: L1 0.08 PSNR 25.65 [03/11 10:00:00]\n"
        text += f"\n[ITER {10 * epoch + 10}] Evaluating train: L1 0.04 PSNR 29.00 [03/11 10:00:00]\n"
    log = log_of(tmp_path, "restored, val_loss=0.1\n" + text)
    assert points(log, "val/loss") == [(10, 0.490), (20, 0.491), (30, 0.492)]
    assert points(log, "val/psnr") == [(10, 25.65), (20, 25.65), (30, 25.65)]
    assert len(points(log, "loss")) == 30


def test_bars_drawn_for_a_validation_tell_of_it_even_where_it_stays_the_same(tmp_path: Path) -> None:
    text = ""
    for i in range(12):
        text += bar(10 * i + 10, 120, f"loss={LOSS[i]:.4f}, lr=0.003") + "\n"
        text += bar(10 * i + 10, 120, "val_psnr=17.22, val_texture_dist=10.4") + "\n"
    log = log_of(tmp_path, text)
    assert points(log, "val/psnr") == [(10 * i + 10, 17.22) for i in range(12)]
    assert len(points(log, "loss")) == 12
