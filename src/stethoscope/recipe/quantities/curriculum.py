"""How the difficulty of the data grows over the run.

curriculum.preschool_time: 5000      curriculum_steps      curriculum.difficulty_ramp: exponential
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("curriculum", 85)

_LENGTH = re.compile(
    r"(?:\w+_)?(?:time|steps|iters|iterations|epochs|duration|length|end|until|total_curriculum_step)"
)
# Numbers of a curriculum that are no length of it.
_NOT_A_LENGTH = frozenset(
    {"start", "min", "every", "freq", "interval", "size", "per", "warmup", "difficulty"}
)


def read(spelling: Spelling) -> Amount | None:
    """Everything that the settings say of a curriculum; its lengths as lengths."""
    if not {"curriculum", "preschool"} & (spelling.around | spelling.words):
        return None
    if spelling.leaf in {"enabled", "curriculum", "use_curriculum", "curriculum_enabled"}:
        return Amount(bool(spelling.value), part="switch") if isinstance(spelling.value, bool) else None
    if isinstance(spelling.value, str) and spelling.length is None:
        return Amount(spelling.value, part=spelling.leaf)
    length = spelling.length
    if length is None or length[0] <= 0 or isinstance(spelling.value, bool):
        return None
    is_length = _LENGTH.fullmatch(spelling.leaf) and not spelling.says(*_NOT_A_LENGTH)
    return Amount(length[0], length[1], "length") if is_length else Amount(length[0], part=spelling.leaf)
