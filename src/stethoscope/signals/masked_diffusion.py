"""What a masked (absorbing-state) diffusion model that knows nothing would lose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stethoscope.run import Recipe, Run, Setting, Values
from stethoscope.signals.baseline import VOCABULARIES
from stethoscope.signals.missing import Missing

ABSORBING = ("absorb", "mask", "mdlm", "subs")
MASKING_KEYS = ("graph", "type", "diffusion", "parameterization", "forward_type", "process", "algo", "name")
LOG_LINEAR_END = 6.9  # -log(1e-3): the log-linear schedule masks 99.9 % of the tokens, whatever sigma says
GRID = 2001  # points of the quadrature; the integrand is smooth
MOST_EXACT = 2048  # difficulties that are integrated one by one


@dataclass(frozen=True, slots=True)
class MaskedDiffusion:
    """The alphabet and the range of noise of an absorbing-state diffusion, from its settings.

    `length` is the number of tokens in a sample, None where the settings do not say.
    """

    tokens: Setting
    sigma_min: float
    sigma_max: float
    length: int | None

    def chance(self, difficulty: Values) -> Values:
        """The loss per token of guessing uniformly, when noise is scaled by each of these difficulties.

        Score entropy weighted by the rate of noise integrates to
        log K * integral of (1 - exp(-s * sigma)) / (exp(sigma) - 1) over sigma.
        """
        if len(difficulty) > MOST_EXACT:
            # The loss is a smooth function of the difficulty: between so many of them a line is exact enough.
            some = np.linspace(float(difficulty.min()), float(difficulty.max()), MOST_EXACT)
            return np.interp(difficulty, some, self.chance(some))
        sigma = np.linspace(max(self.sigma_min, 1e-6), self.sigma_max, GRID)
        integrand = -np.expm1(-np.outer(difficulty, sigma)) / np.expm1(sigma)
        mass = ((integrand[:, 1:] + integrand[:, :-1]) / 2) @ np.diff(sigma)  # the trapezoidal rule
        return np.asarray(math.log(float(str(self.tokens.value))) * mass, dtype=np.float64)


def measure(run: Run) -> MaskedDiffusion | Missing:
    """Read the alphabet and the noise range from settings that speak of masking diffusion."""
    recipe = run.recipe
    if recipe is None or not _absorbs(recipe):
        return Missing("the settings do not describe a masked diffusion")
    tokens = next((s for s in recipe.named(*VOCABULARIES) if isinstance(s.value, int) and s.value > 1), None)
    span = _noise(recipe)
    if tokens is None or span is None:
        return Missing("the settings name no alphabet or no range of noise")
    length = next((s.value for s in recipe.named("length", "seq_len", "max_length", "block_size")), None)
    return MaskedDiffusion(tokens, *span, length if isinstance(length, int) and length > 0 else None)


def _absorbs(recipe: Recipe) -> bool:
    """Whether a noise process is configured, and one that masks."""
    named = [s for s in recipe if s.leaf in MASKING_KEYS and isinstance(s.value, str)]
    masks = any(str(s.value).lower().startswith(ABSORBING) for s in named)
    return masks and any("noise" in str(part) for s in recipe for part in s.key)


def _noise(recipe: Recipe) -> tuple[float, float] | None:
    within = [s for s in recipe if any("noise" in str(part) for part in s.key)]
    if any("loglinear" in str(s.value).lower().replace("_", "").replace("-", "") for s in within):
        return 0.0, LOG_LINEAR_END
    low, high = _number(within, "sigma_min"), _number(within, "sigma_max")
    return (low or 0.0, high) if high is not None and high > 0 else None


def _number(settings: list[Setting], name: str) -> float | None:
    value = next((s.value for s in settings if s.leaf == name), None)
    try:
        return float(str(value)) if value is not None and not isinstance(value, bool) else None
    except ValueError:
        return None
