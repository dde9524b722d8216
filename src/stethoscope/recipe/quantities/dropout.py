"""Which share of activations, paths or labels is dropped in training.

dropout: 0.1      drop_path_rate      attention_dropout      resid_pdrop      model.dropout
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("dropout", 90)

_NAMES = re.compile(r"(?:\w+_)?(?:dropout|pdrop|drop_path|drop_rate|droppath)(?:_(?:rate|prob|p))?")


def read(spelling: Spelling) -> Amount | None:
    """A share between 0 and 1."""
    number = spelling.number
    if number is None or not 0 <= number < 1 or not _NAMES.fullmatch(spelling.leaf):
        return None
    return Amount(number, part="" if spelling.leaf in {"dropout", "drop", "p"} else spelling.leaf)
