"""Probabilities are calibrated on what may be tuned on, and drawn as they come true."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from stethoscope.causes import calibration
from stethoscope.clinic.faultbench.calibrating import fit, log_loss, tempered
from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.reliability_picture import picture
from stethoscope.clinic.faultbench.scoring import Judged, calibration_error, reliability
from stethoscope.clinic.faultbench.split import Part, part_of
from stethoscope.figures import svg
from tests.clinic.test_bench import fault, label

SURE = 2.0  # times as sure as it should be


def overconfident(count: int, **given: object) -> Iterator[Judged]:
    """Runs whose first cause has twice the log-odds of being right."""
    rng = np.random.default_rng(0)
    for number in range(count):
        odds = rng.normal(0.5, 1.5)
        right = rng.random() < 1 / (1 + np.exp(-odds))
        planted = fault("labels-wrong" if right else "setting-ignored")
        stated = 1 / (1 + np.exp(-SURE * odds))
        said = Opinion("sick", (("labels-wrong", float(stated)), ("overfitting", 0.01)))
        yield Judged(label(2 * number, planted, **given), said, True)


def test_the_temperature_undoes_what_was_too_sure() -> None:
    runs = list(overconfident(4000))
    found = fit(runs)
    assert found.runs == 4000
    assert found.temperature / calibration.TEMPERATURE == pytest.approx(SURE, rel=0.1)
    assert found.log_loss[1] < found.log_loss[0]
    assert found.calibration_error[1] < 0.03 < found.calibration_error[0]
    assert calibration_error(tempered(runs, SURE)) < 0.03


def test_what_is_held_out_is_never_fitted_to() -> None:
    runs = list(overconfident(50, task="denoiser"))
    assert {part_of(run.label) for run in runs} == {Part.NEW_TASK}
    assert fit(runs).runs == 0
    assert fit(runs).temperature == calibration.TEMPERATURE


def test_another_temperature_ranks_no_cause_differently() -> None:
    run = next(overconfident(1))
    assert [name for name, _ in tempered([run], 3.0)[0].opinion.causes] == ["labels-wrong", "overfitting"]
    (_, before), (_, after) = run.opinion.causes[1], tempered([run], 3.0)[0].opinion.causes[1]
    assert before < after < 0.5


def test_the_log_loss_of_a_coin_is_that_of_a_coin() -> None:
    assert log_loss(np.zeros(4), np.array([1.0, 0.0, 1.0, 0.0]), 1.0) == pytest.approx(np.log(2))
    assert log_loss(np.array([100.0]), np.array([0.0]), 1.0) == pytest.approx(100.0)


def test_the_picture_shows_every_bin() -> None:
    bins = reliability(list(overconfident(200)))
    assert len(bins) == 10
    assert sum(one.of for one in bins) == 200
    assert [one.probability for one in bins] == sorted(one.probability for one in bins)
    drawn = picture({"tuning": bins, "held out, all": []})
    assert [line.name for line in drawn.panels[0].lines] == ["as stated", "tuning (200 runs)"]
    assert "how often it is right" in svg.render(drawn)


def test_nothing_is_drawn_of_runs_without_a_cause() -> None:
    assert reliability([Judged(label(0), Opinion("healthy"), None)]) == []
