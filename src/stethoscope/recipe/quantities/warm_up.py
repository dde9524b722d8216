"""How long the learning rate rises at the start.

warmup_iter: 500      warmup_epochs: 5      warmup_ratio: 0.03      num_warmup_steps      lr_warmup_steps
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("warm-up", 53)

_WARM = re.compile(r"warm_?up|rampup|ramp_up")
# What goes with a warm-up without being its length.
_NOT_A_LENGTH = frozenset(
    {
        *(
            "lr",
            "type",
            "method",
            "factor",
            "init",
            "start",
            "bias",
            "momentum",
            "decay",
            "power",
            "by",
            "min",
        ),
        *("multiplier", "style", "mode", "by", "prefix", "end", "ema", "value", "enabled", "use", "teacher"),
        *("kl", "loss", "beta", "shape", "strategy", "scheduler", "policy", "learning", "temp", "dropout"),
    }
)
_LENGTHS = frozenset(
    {"steps", "iters", "epochs", "iterations", "total_iters", "length", "updates", "duration"}
)


def read(spelling: Spelling) -> Amount | None:
    """A length of zero or more under a name that speaks of warming up."""
    length = spelling.length
    if length is None or length[0] < 0 or isinstance(spelling.value, bool):
        return None
    section = any(_WARM.fullmatch(word) for word in spelling.around) and spelling.leaf in _LENGTHS
    if not (section or _WARM.search(spelling.leaf)) or spelling.says(*_NOT_A_LENGTH - _spoken_of(spelling)):
        return None
    if "ema" in spelling.around or "kl" in spelling.around:
        return None
    number, unit = length
    if unit == "share" and number > 1:
        return None
    return Amount(number, unit or ("share" if 0 < number < 1 else ""))


def _spoken_of(spelling: Spelling) -> frozenset[str]:
    """What a name with a unit says of the length: `lr_warmup_steps` are steps, `warmup_lr` is a rate."""
    return frozenset({"lr", "learning", "scheduler"}) if spelling.unit in {"step", "epoch"} else frozenset()
