"""How many batches an epoch has.

steps_per_epoch: 1000      iters_per_epoch      batches_per_epoch      num_iters_per_epoch
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("length of an epoch", 7)

_NAMES = re.compile(
    r"(?:num_|n_|train_|training_|max_)*(?:steps|iters?|iterations|batches|its)_(?:per|in|each)_epoch"
)


def read(spelling: Spelling) -> Amount | None:
    """A whole number of batches of the training."""
    number = spelling.number
    if number is None or number < 1 or number != int(number) or not spelling.is_for_training:
        return None
    return Amount(int(number), "step") if _NAMES.fullmatch(spelling.leaf) else None
