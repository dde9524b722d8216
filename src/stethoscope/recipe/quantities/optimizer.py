"""Which optimizer updates the weights.

optim_g.type: AdamW      optimizer: adamw      optim: adamw_torch      optimizer._target_: torch.optim.SGD
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("optimizer", 40)

_NAMES = re.compile(
    r"(?:optimizer|optim|opt|optimiser|optim_type|opt_type|optimizer_type|optimizer_name|opt_name)"
)
_SECTIONS = frozenset({"optimizer", "optim", "optimiser", "optimizers", "opt"})
_KIND = frozenset({"type", "name", "target", "class_path", "cls", "optimizer_class", "class"})
_KNOWN = re.compile(
    r"adam|sgd|rmsprop|adagrad|adadelta|lion|lamb|lars|sophia|muon|shampoo|soap|novograd|adan|radam|prodigy"
    r"|lbfgs|galore|nesterov|ranger|adafactor|schedulefree|momentum",
    re.IGNORECASE,
)


def read(spelling: Spelling) -> Amount | None:
    """A word that names an optimizer."""
    if not isinstance(spelling.value, str) or not spelling.is_for_training:
        return None
    named = _NAMES.fullmatch(spelling.leaf) or (spelling.leaf in _KIND and spelling.around & _SECTIONS)
    is_known = named and _KNOWN.search(spelling.value)
    return Amount(spelling.value.rpartition(".")[2]) if is_known else None
