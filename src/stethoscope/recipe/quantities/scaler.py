"""Whether and how the loss is scaled.

grad_scaler: true      use_scaler      loss_scale: dynamic      init_scale: 65536      growth_interval: 1000
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling, as_number

QUANTITY = Quantity("loss scaling", 31)

_SWITCH = re.compile(
    r"(?:use_|enable_)?(?:grad(?:ient)?_?scaler|scaler|grad_scaling|gradient_scaling)(?:_enabled)?"
)
_SCALE = re.compile(r"(?:static_|dynamic_|initial_|init_)?(?:loss_scale|lossscale)(?:_init)?|init_scale")
_INTERVAL = re.compile(r"(?:amp_)?growth_interval|(?:fp16_)?(?:loss_)?scale_window")


def read(spelling: Spelling) -> Amount | None:
    """A switch, a scale or an interval of a loss scaler."""
    value = spelling.value
    of_scaler = bool({"scaler", "gradscaler"} & spelling.around) and spelling.leaf == "enabled"
    if (of_scaler or _SWITCH.fullmatch(spelling.leaf)) and isinstance(value, bool):
        return Amount(value, part="switch")
    if _INTERVAL.fullmatch(spelling.leaf) and as_number(value) is not None:
        return Amount(as_number(value), "step", "growth interval")
    if not _SCALE.fullmatch(spelling.leaf):
        return None
    if isinstance(value, bool):
        return Amount("dynamic" if value else "static", part="scale")
    number = as_number(value)
    if number is not None:
        # DeepSpeed and Megatron write 0 for a scale that moves.
        return Amount("dynamic" if number == 0 else number, part="scale")
    return Amount(value.lower(), part="scale") if isinstance(value, str) else None
