"""How long the learning rate decays.

T_max: 400000      lr_decay_iters      t_initial      scheduler.total_iters      lr_decay_steps
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("decay length", 52)

_NAMES = re.compile(
    r"(?:cosine_)?t_max|t_?initial|(?:lr_)?decay_(?:iters|steps|iterations|epochs)|lr_decay_(?:iters|steps)"
    r"|cosine_(?:steps|epochs|iters)|(?:lr_)?scheduler_(?:total_)?(?:steps|iters|epochs)|lr_max_(?:steps|iters)"
)
_INSIDE = re.compile(
    r"(?:total|max|num|num_total|total_num|num_training|total_training)_(?:steps|iters|updates)"
    r"|(?:max|total)_epochs"
)
_SECTIONS = frozenset({"scheduler", "sched", "schedule", "schedulers"})
# A linear ramp has a length of its own, and so have restarts.
PART_OF_T_MAX = "cosine"


def read(spelling: Spelling) -> Amount | None:
    """A positive length, by its own name or inside the settings of a schedule."""
    length = spelling.length
    if length is None or length[0] <= 0 or not spelling.is_for_training:
        return None
    is_t_max = spelling.leaf.endswith("t_max")
    if is_t_max or _NAMES.fullmatch(spelling.leaf):
        return Amount(length[0], length[1], PART_OF_T_MAX if is_t_max else "")
    is_length = _INSIDE.fullmatch(spelling.leaf) or (spelling.leaf == "total" and length[1])  # total: 40ep
    inside = spelling.around & _SECTIONS and is_length
    return Amount(length[0], length[1]) if inside and "noise" not in spelling.around else None
