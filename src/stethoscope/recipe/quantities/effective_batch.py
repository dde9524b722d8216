"""How many samples go into one update, over all devices and gathered batches.

global_batch_size: 512      total_batch_size      train_batch_size (of DeepSpeed)      effective_batch_size
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("effective batch", 23)

_ALL = re.compile(
    r"(?:global|total|effective|full|overall|eff)_(?:train_)?(?:batch_?size|batch)|global_train_batch_size"
)


def read(spelling: Spelling) -> Amount | None:
    """A whole number of samples under a name for the batch of an update."""
    number = spelling.number
    if number is None or number < 1 or number != int(number) or not spelling.is_for_training:
        return None
    of_deepspeed = spelling.leaf == "train_batch_size" and "deepspeed" in spelling.around
    return Amount(int(number)) if of_deepspeed or _ALL.fullmatch(spelling.leaf) else None
