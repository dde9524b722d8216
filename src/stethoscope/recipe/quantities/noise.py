"""How much noise a diffusion model is trained with.

noise.type: loglinear with sigma_min, sigma_max      beta_schedule      P_mean, P_std      num_train_timesteps
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("noise schedule", 86)

_NAMES = re.compile(
    r"sigma_(?:min|max|data)|beta_(?:start|end|schedule|min|max)|p_(?:mean|std)|(?:num_)?(?:train_)?timesteps"
    r"|noise_(?:schedule|type|scheduler)|snr_gamma|(?:min_)?snr_gamma|prediction_type|diffusion_steps"
)


def read(spelling: Spelling) -> Amount | None:
    """A number or word that shapes the noise."""
    inside = spelling.leaf in {"type", "schedule", "name"} and "noise" in spelling.around
    if not (inside or _NAMES.fullmatch(spelling.leaf)) or isinstance(spelling.value, bool | list):
        return None
    number = spelling.number
    return Amount(number if number is not None else spelling.value, part=spelling.leaf)
