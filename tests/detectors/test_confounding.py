"""A loss that only follows its difficulty is explained by it; one that rises at equal difficulty is not."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.detectors.confounding import given_difficulty
from stethoscope.findings import Severity, apply, rule_named
from stethoscope.run import Run, Series, Values
from stethoscope.signals import Missing, measure

from .curves import noise

STEPS = np.arange(0, 6000, 10)
RAMP = np.minimum(1.0, 0.2 + STEPS / 2500.0)


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_a_loss_that_follows_its_difficulty_does_not_rise_beyond(rho: float) -> None:
    rising = 0
    for seed in range(40):
        loss = (0.3 + RAMP) * np.exp(0.1 * noise(len(STEPS), seed, rho))
        found = given_difficulty(STEPS, loss, RAMP)
        assert found is not None
        rising += found.rises_beyond
    assert rising <= 1


def test_a_loss_that_rises_behind_the_ramp_does() -> None:
    own = np.exp(np.maximum(0.0, STEPS - 2500.0) / 2200.0)
    for seed in range(20):
        found = given_difficulty(STEPS, (0.3 + RAMP) * own * np.exp(0.1 * noise(len(STEPS), seed)), RAMP)
        assert found is not None
        assert found.rises_beyond


def test_where_the_difficulty_never_rests_time_cannot_be_told_from_it() -> None:
    ramp = np.linspace(0.0, 1.0, len(STEPS))
    found = given_difficulty(STEPS, np.exp(3.0 * ramp), ramp)
    assert found is not None
    assert found.explained == pytest.approx(1.0)
    assert not found.rises_beyond


@pytest.mark.parametrize(("own", "severity"), [(0.0, Severity.NOTE), (1.6, Severity.CRITICAL)])
def test_the_rule_on_divergence_takes_only_the_first_for_explained(own: float, severity: Severity) -> None:
    behind = np.exp(own * np.maximum(0.0, STEPS - 2500.0) / 3500.0)
    loss = (0.3 + RAMP) * behind * (1.0 + 0.02 * noise(len(STEPS), 1))
    assert _severities({"loss": loss, "difficulty": RAMP}) == [severity]


def _severities(curves: dict[str, Values]) -> list[Severity]:
    series = {name: Series(name, name, STEPS, values) for name, values in curves.items()}
    rule = rule_named("divergence")
    outcome = apply(rule, measure(Run("run", "run", series=series)))
    assert not isinstance(outcome, Missing)
    return [finding.severity or rule.severity for finding in outcome]
