"""What the next run is held to, and from what that is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stethoscope.read import read
from stethoscope.run import Run
from stethoscope.trajectory import Basis, hold, plan, toml_reading, write_for
from stethoscope.trajectory.trajectory import Condition, Held, Scale, Side, Trajectory
from tests.trajectory.made_runs import cosine_rate, falling_loss, healthy, rising_accuracy, run_of, series


def held(trajectory: Trajectory, name: str) -> Held:
    return next(one for one in trajectory.signals if one.name == name)


def test_bands_surround_the_curve_they_are_taken_from() -> None:
    made = held(plan(Basis(healthy(0), [healthy(0)])), "loss")
    assert (made.worse, made.scale) == (Side.HIGH, Scale.LOG)
    for row in made.rows[1:]:
        truth = 0.3 + 2.0 * (1 + row.step / 10.0) ** -0.5
        assert row.expected == pytest.approx(truth, rel=0.1)
        assert row.low is not None
        assert row.high is not None
        assert row.low < truth < row.high


def test_several_runs_make_sharper_bands() -> None:
    one = held(plan(Basis(healthy(0), [healthy(0)])), "loss").rows[-1]
    four = held(plan(Basis(healthy(0), [healthy(seed) for seed in range(4)])), "loss").rows[-1]
    assert one.high is not None
    assert four.high is not None
    assert four.high / (four.expected or 1.0) < 0.8 * one.high / (one.expected or 1.0)


def test_the_healthy_part_of_a_run_is_continued_by_a_forecast() -> None:
    sick = run_of(falling_loss(0, factor=3.0, noise=0.02), cosine_rate())
    made = held(plan(Basis(sick, until=400)), "loss")
    assert made.last == 1000
    assert "forecast by a" in made.source
    row = made.rows[-1]
    truth = 0.3 + 2.0 * (1 + 1000 / 10.0) ** -0.5
    assert row.low is not None
    assert row.high is not None
    assert row.low < truth < row.high
    assert hold(sick, plan(Basis(sick, until=400))).departed


def test_what_fails_its_back_test_is_not_forecast() -> None:
    steps = np.arange(5, 401, 5)
    bent = np.where(steps < 200, 2.0, 2.0 - (steps - 200) / 150.0)
    run = run_of(series("loss", steps, bent), cosine_rate())
    made = held(plan(Basis(run, until=400)), "loss")
    assert made.last < 400
    assert "no forecast beyond" in made.source


def test_where_nothing_was_healthy_no_band_is_invented() -> None:
    made = plan(Basis(healthy(0), nothing_healthy="the loss has the wrong sign"))
    assert [one.name for one in made.signals] == ["lr"]
    assert made.unforecast["loss"] == "the loss has the wrong sign"


def test_a_rate_in_doubt_is_not_taken_from_the_log() -> None:
    made = plan(Basis(healthy(0), doubted={"lr"}))
    assert "lr" not in [one.name for one in made.signals]
    assert "lr" in made.unforecast


def test_the_loss_of_a_game_has_no_band() -> None:
    steps = np.arange(0, 200, 2)
    run = run_of(
        *(series(name, steps, 1.0 + 0.0 * steps) for name in ("loss", "loss/d_real", "loss/gan", "loss/pix"))
    )
    made = plan(Basis(run))
    assert "loss" not in [one.name for one in made.signals]
    assert "game" in made.unforecast["loss"]


def test_rates_that_differ_between_runs_are_no_schedule() -> None:
    other = run_of(falling_loss(1), cosine_rate(peak=2e-3))
    made = plan(Basis(healthy(0), [healthy(0), other]))
    assert made.unforecast["lr"] == "the runs follow different schedules"


def test_a_rate_that_never_stands_still_is_not_named() -> None:
    steps = np.arange(0, 1000)
    rates = series("lr", steps, 1e-3 * (1.0 + np.random.default_rng(0).random(1000)))
    assert "turns too often" in plan(Basis(run_of(falling_loss(0), rates))).unforecast["lr"]


def test_a_difficulty_is_held_exactly() -> None:
    steps = np.arange(0, 1001, 10)
    difficulty = series("difficulty", steps, np.minimum(steps / 500.0, 1.0))
    made = plan(Basis(run_of(falling_loss(0), difficulty)))
    assert held(made, "difficulty").exact
    slow = series("difficulty", steps, np.minimum(steps / 2000.0, 1.0))
    assert [one.held.name for one in hold(run_of(falling_loss(0), slow), made).left] == ["difficulty"]


def recipe_run(folder: Path, text: str) -> Run:
    (folder / "config.yml").write_text(text)
    return read(folder)


def test_a_recipe_alone_gives_the_schedule_and_the_start(tmp_path: Path) -> None:
    text = "lr: 0.001\nmax_steps: 1000\nwarmup_steps: 100\nlr_scheduler: cosine\nmin_lr: 0.0001\n"
    text += "vocab_size: 50257\n"
    made = plan(Basis(recipe_run(tmp_path, text)))
    rows = held(made, "lr").rows
    assert rows[1].step == 100
    assert rows[1].expected == pytest.approx(1e-3)
    assert rows[-1].step == 1000
    assert rows[-1].expected == pytest.approx(1e-4)
    assert [(phase.name, phase.last) for phase in made.phases] == [("warm-up", 100)]
    start = next(sign for sign in made.signs if sign.when is Condition.ABOVE)
    assert start.value == pytest.approx(1.25 * np.log(50257), rel=1e-3)
    assert "guessing costs 10.82 (vocab_size is 50257)" in start.why
    assert "no" in made.unforecast["loss"]


def test_a_schedule_that_waits_is_not_forecast(tmp_path: Path) -> None:
    text = "lr: 0.001\nmax_steps: 1000\nlr_scheduler: ReduceLROnPlateau\n"
    made = plan(Basis(recipe_run(tmp_path, text)))
    assert "depends on how the training goes" in made.unforecast["lr"]


def test_the_text_is_what_the_plan_says() -> None:
    read_back = toml_reading.read(write_for(healthy(0), [healthy(1)]))
    assert {one.name for one in read_back.signals} == {"lr", "loss", "val/accuracy"}
    assert not hold(healthy(2), read_back).departed


def test_scales_and_norms_have_their_warning_signs() -> None:
    steps = np.arange(0, 1001, 10)
    run = run_of(falling_loss(0), series("loss_scale", steps, 65536.0 + 0 * steps))
    signs = {(sign.signal, sign.when) for sign in plan(Basis(run)).signs}
    assert ("loss_scale", Condition.FALLING) in signs
    assert ("loss", Condition.NOT_FINITE) in signs


def test_odd_series_make_no_trouble() -> None:
    steps = np.arange(0, 100)
    for values in (
        0.0 * steps,
        np.full(100, np.nan),
        np.full(100, 1e300),
        -1.0 * steps,
        10.0 ** (steps * 3.0),
    ):
        run = run_of(series("loss", steps, values), rising_accuracy(0), replace(cosine_rate(), axis="row"))
        text = write_for(run)
        assert not hold(run, toml_reading.read(text)).left


def test_a_million_points_are_planned_and_held() -> None:
    steps = np.arange(1_000_000)
    values = (0.3 + (1 + steps / 1000.0) ** -0.5) * np.exp(
        0.1 * np.random.default_rng(0).standard_normal(len(steps))
    )
    run = run_of(series("loss", steps, values), series("lr", steps, np.where(steps < 500_000, 1e-3, 1e-4)))
    made = plan(Basis(run))
    assert not hold(run, made).departed
    assert hold(run_of(series("loss", steps, 4.0 * values)), made).departed
