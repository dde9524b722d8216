"""The learning rate at its highest.

    lr: 2.0e-4      learning_rate: 6e-4      optim_g.lr      base_lr      peak_lr      lr0      --lr-max

`part` is "base" where the name says that the rate belongs to some base batch and is scaled for others.
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("learning rate", 10)

_PLAIN = re.compile(
    r"(?:(?:init|initial|peak|max|start|starting|g|gen|generator|train|optimizer|optim|adam|adamw|sgd)_)?"
    r"(?:lr|learning_rate|learningrate|lrate)(?:_?(?:g|0|init|initial|peak|max|value))?"
)
_BASE = re.compile(r"(?:base_lr|blr|base_learning_rate|lr_base|lr_per_sample|lr_per_img)")
# The bounds of a schedule are not what the optimizer starts from.
_OF_A_SCHEDULE = frozenset({"scheduler", "sched", "schedulers", "lr_scheduler", "warmup", "lrate_scheduler"})


def read(spelling: Spelling) -> Amount | None:
    """A positive number under a name for the rate, outside the settings of a schedule."""
    number = spelling.number
    if number is None or number <= 0 or number >= 1e3 or not spelling.is_for_training:
        return None
    in_schedule = bool(spelling.around & _OF_A_SCHEDULE)
    if _PLAIN.fullmatch(spelling.leaf) and (not in_schedule or spelling.says("max", "peak")):
        return Amount(number)
    return Amount(number, part="base") if _BASE.fullmatch(spelling.leaf) and not in_schedule else None
