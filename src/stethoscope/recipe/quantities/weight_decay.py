"""How strongly weights are pulled towards zero.

weight_decay: 0.01      optimizer.weight_decay      wd      l2_reg
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("weight decay", 42)

_NAMES = re.compile(r"(?:adam_|optim_|opt_)?(?:weight_decay|weightdecay|wd|l2_reg|l2_regularization)")


def read(spelling: Spelling) -> Amount | None:
    """A number of zero or more."""
    number = spelling.number
    if number is None or number < 0 or not spelling.is_for_training:
        return None
    return Amount(number) if _NAMES.fullmatch(spelling.leaf) else None
