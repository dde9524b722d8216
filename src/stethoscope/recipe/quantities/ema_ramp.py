"""How the average of the weights begins: the power or warm-up of its decay, and when it starts or takes over.

ema_power: 0.75      ema_inv_gamma      use_ema_warmup: true      ema_update_after_step      ema_switch_iter
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("EMA ramp", 71)

_PARTS = {
    "power": re.compile(r"power|gamma|inv_gamma"),
    "warm-up": re.compile(r"(?:use_)?warm_?up(?:_\w+)?|tau|ramp_?up(?:_\w+)?|halflife(?:_\w+)?|min_decay"),
    "start": re.compile(r"(?:update_after|start)(?:_\w+)?|update_after_step"),
    "switch": re.compile(r"switch(?:_\w+)?"),
}


def read(spelling: Spelling) -> Amount | None:
    """A number or switch under a name that speaks of the average and of its beginning."""
    in_leaf = "ema" in spelling.words
    if not in_leaf and "ema" not in spelling.around:
        return None
    rest = re.sub(r"^(?:use_|model_)?ema_|_ema(?=_|$)", "", spelling.leaf)
    for part, pattern in _PARTS.items():
        if pattern.fullmatch(rest):
            value = spelling.value if isinstance(spelling.value, bool) else spelling.number
            return Amount(value, part=part) if value is not None else None
    return None
