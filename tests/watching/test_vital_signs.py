"""The few curves a person looks at, with where they stand and which way they go."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.run import Run, Series
from stethoscope.watching.vital_signs import DRAWN, VitalSign, vital_signs


def signs(**values: list[float]) -> dict[str, VitalSign]:
    series = {}
    for spoken, numbers in values.items():
        name = spoken.replace("__", "/")
        series[name] = Series(name, name, np.arange(len(numbers)), np.array(numbers, dtype=float))
    return {sign.name: sign for sign in vital_signs(Run("run", "run", series=series))}


def test_what_people_look_at_first_comes_first() -> None:
    one = [1.0, 2.0]
    found = signs(skipped=one, lr=one, val__psnr=one, loss__l1=one, loss=one, grad_norm=one, mem=one)
    assert list(found) == ["loss", "val/psnr", "lr", "grad_norm", "skipped"]


def test_a_run_without_the_usual_names_shows_what_it_has() -> None:
    assert list(signs(reward=[1.0, 2.0], mem=[1.0])) == ["reward", "mem"]


def test_a_trend_says_whether_it_is_for_the_better() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 400)
    falling = list(np.linspace(2, 1, 400) + noise)
    found = signs(loss=falling, val__psnr=falling, grad_norm=list(1 + noise))
    assert (found["loss"].trend, found["loss"].good) == ("falling", True)
    assert (found["val/psnr"].trend, found["val/psnr"].good) == ("falling", False)
    assert (found["grad_norm"].trend, found["grad_norm"].good) == ("steady", None)


def test_what_was_set_falls_when_it_falls() -> None:
    cosine = list(1e-3 * (1 + np.cos(np.linspace(0, 3, 100))) / 2)
    found = signs(lr=cosine, loss_scale=[65536.0] * 50)
    assert found["lr"].trend == "falling"
    assert found["loss_scale"].trend == "constant"


@pytest.mark.parametrize("values", [[np.nan], [np.inf] * 5, [1.0, np.nan], [1e308, -1e308] * 200, [0.0]])
def test_any_values_are_survived(values: list[float]) -> None:
    sign = signs(loss=values)["loss"]
    assert sign.points == len(values)
    assert (sign.trend == "not finite") == (not np.isfinite(values[-1]))


def test_a_long_curve_is_kept_in_as_many_points_as_can_be_drawn() -> None:
    sign = signs(loss=list(np.linspace(2, 1, 50_000)))["loss"]
    assert len(sign.curve) == DRAWN
    assert sign.points == 50_000
    assert sign.curve.values[0] > sign.curve.values[-1]
