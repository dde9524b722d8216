"""Which checkpoint the evaluations of a run call best, and when they cannot tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stethoscope.prescription.ranking import had_learned, pays_for_looks, ranking, recovers
from stethoscope.run import Run, Series

STEPS = list(range(100, 1100, 100))
SAVED = (200, 500, 1000)


def measured(**values: Sequence[float]) -> Run:
    """A run with these series, one value every hundred steps; `val_loss` stands for val/loss."""
    named = {
        name.replace("val_", "val/").replace("loss_", "loss/"): list(one) for name, one in values.items()
    }
    series = {
        name: Series(name, name, np.array(STEPS[: len(one)]), np.array(one, dtype=float))
        for name, one in named.items()
    }
    return Run("runs/one", "one", series=series)


def test_the_best_saved_one_is_found_whichever_way_is_better() -> None:
    turned = [3.0, 2.0, 1.5, 1.2, 1.0, 1.4, 1.8, 2.2, 2.6, 3.0]
    falling = ranking(measured(val_loss=turned), SAVED)
    rising = ranking(measured(val_psnr=[30.0 - value for value in turned]), SAVED)
    assert falling is not None
    assert rising is not None
    assert falling.best == rising.best == 500


def test_scores_that_disagree_call_none_best() -> None:
    loss = [3.0, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6]
    accuracy = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9]
    found = ranking(measured(val_loss=loss, val_accuracy=accuracy), SAVED)
    assert found is not None
    assert found.best is None
    assert found.told == "val/loss at step 200 and val/accuracy at step 1,000"


def test_one_lucky_evaluation_is_not_the_best() -> None:
    noisy = [0.5, 0.83, 0.70, 0.74, 0.83, 0.85, 0.76, 0.84, 0.79, 0.82]
    found = ranking(measured(val_accuracy=noisy), SAVED)
    assert found is not None
    assert found.best != 200


def test_weights_beside_a_score_that_is_not_finite_are_never_best() -> None:
    broken = [3.0, 2.0, 1.5, 1.2, 1.0, np.nan, np.nan, np.nan, np.nan, np.nan]
    found = ranking(measured(val_loss=broken), SAVED)
    assert found is not None
    assert found.best == 500


def test_an_error_ranks_nothing_beside_a_discriminator_and_a_score_of_looks_does() -> None:
    game = [0.7] * 10
    psnr = [20.0, 22.0, 21.0, 20.8, 20.6, 20.4, 20.2, 20.0, 19.8, 19.6]
    fid = [90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 35.0, 32.0, 30.0]
    assert pays_for_looks(measured(loss=game, loss_d_real=game, loss_d_fake=game))
    assert ranking(measured(loss=game, loss_d_real=game, loss_d_fake=game, val_psnr=psnr), SAVED) is None
    found = ranking(
        measured(loss=game, loss_d_real=game, loss_d_fake=game, val_psnr=psnr, val_fid=fid), SAVED
    )
    assert found is not None
    assert found.best == 1000


def test_a_loss_at_its_start_has_learned_nothing() -> None:
    assert not had_learned(measured(loss=[2.1, 2.0, 2.1, 2.3, 2.2, 2.4, 2.3, 2.5, 2.4, 2.6]), 1000)
    assert had_learned(measured(loss=[2.1, 2.0, 1.9, 1.5, 1.2, 1.0, 0.9, 0.8, 0.8, 0.7]), 1000)


def test_trouble_that_passed_is_told_from_trouble_that_stayed() -> None:
    passed = [2.0, 1.8, 1.6, 1.4, 9.0, 1.2, 1.0, 0.8, 0.7, 0.6]
    stayed = [2.0, 1.8, 1.6, 1.4, 9.0, 8.0, 9.0, 8.5, 9.0, 9.0]
    assert recovers(measured(loss=passed), 500)
    assert not recovers(measured(loss=stayed), 500)
    assert not recovers(measured(loss=[*passed[:8], np.nan, np.nan]), 500)
