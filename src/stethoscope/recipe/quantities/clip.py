"""To which norm gradients are cut.

max_grad_norm: 1.0      gradient_clip_val      grad_clip: true      clip_grad.max_norm      clip_norm
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("gradient clip", 60)

_NAMES = re.compile(
    r"(?:max_)?grad(?:ient)?_?clip(?:ping)?(?:_(?:val|value|norm|max_norm|threshold))?|clip_grad(?:ient)?s?(?:_norm)?"
    r"|max_(?:grad|gradient)_norm|clip_norm|grad_norm_clip|use_grad_clip|clip_max_norm|grad_max_norm|clip"
)
_SECTION = frozenset({"clip", "clipping"})


def read(spelling: Spelling) -> Amount | None:
    """A norm, or a switch."""
    # The val of gradient_clip_val is a value.
    for_training = spelling.is_for_training or spelling.leaf.endswith("clip_val")
    if not for_training or spelling.says("loss", "ratio", "score", "skip"):
        return None
    inside = spelling.leaf in {"max_norm", "norm", "value"} and spelling.around & _SECTION
    if not (inside or _NAMES.fullmatch(spelling.leaf)):
        return None
    if isinstance(spelling.value, bool):
        return Amount("on" if spelling.value else "off")
    number = spelling.number
    return Amount(number) if number is not None and number >= 0 and spelling.leaf != "clip" else None
