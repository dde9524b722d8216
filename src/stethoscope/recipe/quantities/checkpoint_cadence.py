"""How often a checkpoint is written.

save_checkpoint_freq: 20000      save_steps      checkpoint_interval      snapshot_freq      save_every
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("checkpoint every", 96)

_NAMES = re.compile(
    r"(?:save|checkpoint|ckpt|snapshot|save_checkpoint|save_ckpt|save_model|saving|snap)_"
    r"(?:freq|frequency|interval|every|period|steps|epochs|every_\w+|iters|iter)"
)


def read(spelling: Spelling) -> Amount | None:
    """A positive number of steps or epochs."""
    inside = spelling.leaf in {"interval", "every", "save_interval"} and "checkpoint" in spelling.around
    length = spelling.length
    if length is None or length[0] <= 0 or not (inside or _NAMES.fullmatch(spelling.leaf)):
        return None
    return Amount(length[0], length[1])
