"""Curves that begin twice."""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.starting_over import starts_over, starts_over_in_lines


def _learned(count: int) -> np.ndarray:
    return 0.3 + 2.0 * np.exp(-np.arange(count) / 8)


def test_a_second_beginning_is_found_where_it_is() -> None:
    found = starts_over(np.concatenate([_learned(60), _learned(50)]))
    assert found is not None
    assert found.at == 60
    assert found.apart < 0.01


def test_a_level_that_is_reached_again_in_small_steps_is_none() -> None:
    assert starts_over(np.concatenate([_learned(60), _learned(60)[::-1]])) is None


def test_what_is_learned_along_another_curve_is_none() -> None:
    assert starts_over(np.concatenate([_learned(60), 0.3 + 2.0 * np.exp(-np.arange(50) / 60)])) is None


def test_folds_behind_one_another_are_no_loss_of_what_was_learned() -> None:
    fold = 0.3 + 2.0 * np.exp(-np.arange(60) / 10.0)
    for folds in (3, 4, 5):
        assert starts_over(np.tile(fold, folds)) is None
        assert starts_over_in_lines(np.tile(fold[::5], folds), np.tile(fold[::5], folds)) is None
    assert starts_over(np.tile(fold, 2)) is not None
    assert starts_over_in_lines(np.tile(fold[::5], 2), np.tile(fold[::5], 2)) == 12
