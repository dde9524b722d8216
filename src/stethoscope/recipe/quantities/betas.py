"""How long the optimizer remembers: Adam's betas, SGD's momentum.

betas: [0.9, 0.99]      beta1, beta2      adam_beta2      momentum: 0.9
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling, as_numbers

QUANTITY = Quantity("betas", 41)

_ONE = re.compile(r"(?:adam_|optim_|adamw_)?beta_?([12])|(?:sgd_|optim_)?momentum")
_OPTIMIZER = frozenset({"optimizer", "optim", "opt", "optimiser", "g", "train", "training", "args", "params"})
_NOISE = frozenset(
    {"noise", "diffusion", "scheduler", "ema", "bn", "norm", "schedule", "loss", "scheduling", "dynamic"}
)


def read(spelling: Spelling) -> Amount | None:
    """Numbers between 0 and 1 that are not those of a noise schedule or a running mean."""
    if not spelling.is_for_training or spelling.around & _NOISE:
        return None
    if spelling.leaf in {"betas", "adam_betas", "opt_betas"}:
        numbers = as_numbers(spelling.value)
        return Amount(tuple(numbers), part="betas") if numbers and all(0 <= n < 1 for n in numbers) else None
    found = _ONE.fullmatch(spelling.leaf)
    if found is None or (spelling.around and not spelling.around & _OPTIMIZER):
        return None
    number = spelling.number
    part = f"beta{found[1]}" if found[1] else "momentum"
    return Amount(number, part=part) if number is not None and 0 <= number < 1 else None
