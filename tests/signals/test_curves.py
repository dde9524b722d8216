"""What the signals make of the series and settings of a run."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.run import Recipe, Run, Segment, Series, Setting, Where
from stethoscope.signals import (
    Missing,
    baseline,
    curriculum,
    epochs,
    learning_rate,
    loss,
    loss_settings,
    restarts,
    schedule_settings,
    skipped_steps,
    starting_point,
    turning_points,
)


def series(name: str, values: list[float], gap: int = 1, first: int = 0) -> Series:
    steps = first + np.arange(len(values), dtype=np.int64) * gap
    return Series(name, name, steps, np.array(values, dtype=np.float64))


def run(
    *curves: Series, settings: dict[str, object] | None = None, segments: tuple[Segment, ...] = ()
) -> Run:
    told = tuple(Setting(_key(key), value, Where("a.yml", 1)) for key, value in (settings or {}).items())
    return Run(
        "run",
        "run",
        series={one.name: one for one in curves},
        recipe=Recipe(told) if settings is not None else None,
        segments=segments,
    )


def _key(dotted: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in dotted.split("."))


def test_without_a_total_the_largest_honest_term_stands_for_the_loss() -> None:
    measured = loss.measure(
        run(series("loss/pix", [0.1]), series("loss/percep", [2.0]), series("loss/g_gan", [9.0]))
    )
    assert isinstance(measured, loss.TrainLoss)
    assert measured.series.name == "loss/percep"


def test_two_sides_of_a_game_are_no_loss_that_measures_progress() -> None:
    assert isinstance(loss.measure(run(series("loss/d", [1.0]), series("loss/g", [1.0]))), Missing)
    alone = loss.measure(run(series("loss/g", [1.0])))
    assert isinstance(alone, loss.TrainLoss)
    assert alone.measures_progress


def test_a_game_and_a_reward_do_not_measure_progress() -> None:
    game = loss.measure(run(series("loss", [1.0]), series("loss/d_real", [1.0])))
    rewarded = loss.measure(run(series("loss", [1.0]), series("train/reward", [1.0])))
    plain = loss.measure(run(series("loss", [1.0]), series("loss/l1", [1.0])))
    assert isinstance(game, loss.TrainLoss)
    assert isinstance(rewarded, loss.TrainLoss)
    assert isinstance(plain, loss.TrainLoss)
    assert (game.measures_progress, rewarded.measures_progress, plain.measures_progress) == (
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("rates", "warming"),
    [
        ([1e-9 * step for step in range(50)], True),
        ([1e-3] * 50, False),
        ([*(1e-4 * step for step in range(10)), *[1e-3] * 40], False),
        ([1e-3 * 0.9**step for step in range(50)], False),
    ],
)
def test_a_warm_up_that_has_not_ended(rates: list[float], warming: bool) -> None:
    measured = learning_rate.measure(run(series("lr", rates)))
    assert isinstance(measured, learning_rate.LearningRate)
    assert measured.still_warming_up is warming


def test_a_counter_and_a_falling_scale_both_tell_of_skips() -> None:
    counted = skipped_steps.measure(run(series("skipped", [0, 0, 1, 1, 2])))
    fallen = skipped_steps.measure(run(series("loss_scale", [8.0, 8.0, 4.0, 4.0, 2.0])))
    assert isinstance(counted, skipped_steps.SkippedSteps)
    assert isinstance(fallen, skipped_steps.SkippedSteps)
    assert counted.steps.tolist() == fallen.steps.tolist() == [2, 4]
    assert isinstance(skipped_steps.measure(run(series("loss_scale", [1.0, 1.0]))), Missing)


@pytest.mark.parametrize(
    ("flag", "skipped"),
    [
        ([0, 0, 1, 1, 1], [2, 3, 4]),
        ([1, 1, 1], [0, 1, 2]),
        ([0, 1, 0, 1, 1], [1, 3, 4]),
        ([0, 0, 0], []),
        ([np.nan, 0, 1], [2]),
        ([1], [0]),
    ],
)
def test_a_flag_of_every_step_counts_wherever_it_is_one(flag: list[float], skipped: list[int]) -> None:
    measured = skipped_steps.measure(run(series("skipped", flag)))
    assert isinstance(measured, skipped_steps.SkippedSteps)
    assert measured.steps.tolist() == skipped


def test_a_count_of_all_skips_so_far_stays_at_one_after_the_first() -> None:
    measured = skipped_steps.measure(run(series("skipped", [0, 1, 1, 1], gap=10)))
    assert isinstance(measured, skipped_steps.SkippedSteps)
    assert measured.steps.tolist() == [10]


def test_restarts_are_the_starts_of_later_segments() -> None:
    pieces = (Segment(0, 50, "a.log"), Segment(40, 99, "b.log"))
    measured = restarts.measure(run(series("loss", [1.0] * 100), segments=pieces))
    assert measured == restarts.Restarts((40,), True)
    assert not restarts.measure(run(series("loss", [1.0] * 100, first=4500))).from_scratch


def test_changes_from_outside_are_found_where_they_happen() -> None:
    changes = turning_points.measure(
        run(
            series("loss", [1.0] * 100),
            series("lr", [1e-3] * 50 + [1e-4] * 50),
            series("loss/gan", [1.0] * 40, first=60),
            series("difficulty", [0.0] * 30 + [1.0] * 70),
        )
    )
    assert [(point.step, point.kind) for point in changes.points] == [
        (30, "difficulty"),
        (50, "lr down"),
        (60, "term"),
    ]
    assert [(point.step, point.kind) for point in changes.near(55, 5)] == [(50, "lr down"), (60, "term")]


def test_a_curriculum_that_is_switched_off_is_none() -> None:
    off = run(series("loss", [1.0]), settings={"curriculum.enabled": False, "curriculum.steps": 5000})
    on = run(series("loss", [1.0]), settings={"curriculum.enabled": True, "curriculum.steps": 5000})
    assert isinstance(curriculum.measure(off), Missing)
    assert isinstance(curriculum.measure(on), curriculum.Curriculum)


def test_the_loss_of_guessing_comes_from_one_unambiguous_setting() -> None:
    known = baseline.measure(run(settings={"model.vocab_size": 50257}))
    unclear = baseline.measure(run(settings={"a.num_classes": 10, "b.num_classes": 100}))
    assert isinstance(known, baseline.Baseline)
    assert isinstance(unclear, baseline.Baseline)
    assert known.chance_loss == pytest.approx(10.825, abs=1e-3)
    assert unclear.chance_loss is None
    assert baseline.common_size(10.82) == 50257


def test_a_baseline_logged_beside_the_metric_is_found() -> None:
    measured = baseline.measure(run(series("val/psnr", [30.0]), series("val/psnr_bicubic", [28.0])))
    assert isinstance(measured, baseline.Baseline)
    assert measured.references["val/psnr"].name == "val/psnr_bicubic"


def test_a_scale_counts_only_where_images_are_restored() -> None:
    restoring = baseline.measure(run(settings={"name": "2xNano_SR", "scale": 2}))
    drawing = baseline.measure(run(settings={"name": "classifier", "scale": 2}))
    assert isinstance(restoring, baseline.Baseline)
    assert isinstance(drawing, baseline.Baseline)
    assert restoring.enlargement is not None
    assert drawing.enlargement is None


def test_weights_stand_beside_the_type_or_in_the_name() -> None:
    listed = loss_settings.measure(
        run(settings={"losses.0.type": "ssimloss", "losses.0.loss_weight": 0.05, "losses.1.type": "l1loss"})
    )
    named = loss_settings.measure(run(settings={"lambda_ssim": 0.2}))
    assert isinstance(listed, loss_settings.LossSettings)
    assert isinstance(named, loss_settings.LossSettings)
    assert (listed.weight_of("ssim"), named.weight_of("ssim"), listed.weight_of("l1")) == (0.05, 0.2, None)


def test_earlier_weights_are_named_by_a_path_and_not_by_a_number() -> None:
    tuned = starting_point.measure(run(settings={"pretrain_network_g": "a.pth"}))
    fresh = starting_point.measure(run(settings={"pretrain_network_g": None, "resume": False, "lora_r": 8}))
    assert (tuned.from_scratch, fresh.from_scratch) == (False, True)


def test_warm_restarts_are_read_from_the_settings() -> None:
    measured = schedule_settings.measure(
        run(settings={"scheduler.type": "CosineAnnealingRestartLR", "lr": 2e-4, "optim.lr": 1e-4})
    )
    assert measured == schedule_settings.ScheduleSettings(2e-4, True)


def test_the_length_of_an_epoch() -> None:
    measured = epochs.measure(run(series("epoch", [0.0, 0.5, 1.0, 1.5], gap=100)))
    assert measured == epochs.Epochs(200.0)


def test_the_length_of_an_epoch_that_is_counted_in_whole_numbers() -> None:
    counted = [float(step // 1000) for step in range(0, 3500, 50)]
    assert epochs.measure(run(series("epoch", counted, gap=50))) == epochs.Epochs(1000.0)
