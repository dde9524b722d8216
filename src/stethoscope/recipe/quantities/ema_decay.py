"""How slowly the average of the weights follows them: the share that is kept at each update.

ema_decay: 0.999      ema: 0.9999      model_ema_decay      ema.decay      ema_halflife_kimg (not read here)
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("EMA decay", 70)

_NAMES = re.compile(
    r"(?:model_|weight_|net_)?ema(?:_(?:decay|rate|beta|alpha|momentum|mu|max_decay|factor))?"
)
_INSIDE = frozenset({"decay", "rate", "beta", "max_decay", "decay_rate", "mu"})
LEAST = 0.5  # what keeps less than half has no memory; a smaller number counts something else
_OF_TARGETS = frozenset({"teacher", "target", "bn", "codebook", "vq", "quantizer", "loss"})


def read(spelling: Spelling) -> Amount | None:
    """A number just below one; 0 switches the average off."""
    number = spelling.number
    if number is None or spelling.says("warmup", "steps", "every", "start") or spelling.around & _OF_TARGETS:
        return None
    inside = "ema" in spelling.around and spelling.leaf in _INSIDE
    if not (inside or _NAMES.fullmatch(spelling.leaf)):
        return None
    if number == 0:
        return Amount("off")
    return Amount(number) if LEAST <= number < 1 else None
