"""How often the training is evaluated.

val_freq: 1000      eval_interval      eval_steps      check_val_every_n_epoch      val_check_interval
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("evaluation every", 95)

_NAMES = re.compile(
    r"(?:val|eval|evaluation|validation|valid|test)_(?:freq|frequency|interval|every|period|steps|epochs|every_\w+)"
    r"|(?:check_val|validate|evaluate|eval|val)_every(?:_n)?(?:_\w+)?|val_check_interval|evaluation_interval"
)


def read(spelling: Spelling) -> Amount | None:
    """A positive number of steps or epochs."""
    inside = (
        spelling.leaf in {"freq", "interval", "every", "val_interval"} and {"val", "eval"} & spelling.around
    )
    length = spelling.length
    if length is None or length[0] <= 0 or not (inside or _NAMES.fullmatch(spelling.leaf)):
        return None
    unit = length[1] or ("share" if length[0] <= 1 and spelling.leaf == "val_check_interval" else "")
    return Amount(length[0], unit)
