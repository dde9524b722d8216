"""Many judgements, few false alarms."""

from __future__ import annotations

import pytest
from scipy.stats import false_discovery_control

from stethoscope.trajectory.false_alarms import adjusted


@pytest.mark.parametrize(
    "chances", [[0.5], [0.01, 0.02, 0.3], [0.9, 0.001, 0.04, 0.04], [0.0, 1.0, 0.2, 0.2, 0.03]]
)
def test_the_procedure_is_that_of_benjamini_and_yekutieli(chances: list[float]) -> None:
    assert adjusted(chances) == pytest.approx(false_discovery_control(chances, method="by"))


def test_of_nothing_nothing_is_adjusted() -> None:
    assert adjusted([]) == ()
