"""What a masked diffusion that knows nothing loses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from stethoscope.run import Setting, Where
from stethoscope.signals.masked_diffusion import LOG_LINEAR_END, MaskedDiffusion

TOKENS = Setting(("tokens",), 36, Where("config.yaml", 1))


@pytest.mark.parametrize("difficulty", [0.1, 0.333, 0.799, 1.0])
def test_the_chance_loss_is_the_integral_over_the_noise(difficulty: float) -> None:
    diffusion = MaskedDiffusion(TOKENS, 1e-4, 0.8, None)
    mass, _ = quad(lambda sigma: -math.expm1(-difficulty * sigma) / math.expm1(sigma), 1e-4, 0.8)
    assert diffusion.chance(np.array([difficulty]))[0] == pytest.approx(math.log(36) * mass, rel=1e-6)


def test_log_linear_noise_makes_it_the_logarithm_of_the_alphabet() -> None:
    diffusion = MaskedDiffusion(TOKENS, 0.0, LOG_LINEAR_END, None)
    assert diffusion.chance(np.ones(1))[0] == pytest.approx(math.log(36), rel=2e-3)


def test_many_difficulties_cost_what_each_of_them_costs() -> None:
    diffusion = MaskedDiffusion(TOKENS, 1e-4, 0.8, None)
    many = np.random.default_rng(0).uniform(0.0, 1.0, 50_000)
    few = many[::5000]
    np.testing.assert_allclose(diffusion.chance(many)[::5000], diffusion.chance(few), rtol=1e-6)
