"""What random numbers begin from.

seed: 42      manual_seed      random_seed      data_seed      seed_everything
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("seed", 99)

_NAMES = re.compile(r"(?:manual_|random_|rng_|global_|torch_|np_|base_|train_)?seed(?:_everything)?")


def read(spelling: Spelling) -> Amount | None:
    """A whole number."""
    number = spelling.number
    if number is None or number != int(number) or not _NAMES.fullmatch(spelling.leaf):
        return None
    return Amount(int(number)) if spelling.is_for_training else None
