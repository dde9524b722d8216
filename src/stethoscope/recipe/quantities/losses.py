"""What is minimised, and with which weights.

losses: [{type: l1loss, loss_weight: 1.0}]      lambda_fft: 0.1      loss.l1_weight      criterion: mse
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("losses", 80)

_WEIGHT = re.compile(r"(?:lambda|weight|coef|coeff|coefficient|wt|gain)")
_LOSS = re.compile(r"(?:loss|losses|criterion|objective)")
# fmt: off
_NOT = frozenset({
    "decay", "class", "sample", "path", "file", "init", "pos", "norm", "reduction", "ema", "pretrained",
    "min", "max", "scale",
})
# fmt: on


def read(spelling: Spelling) -> Amount | None:
    """The name of a loss, or the weight of a term."""
    if spelling.words & _NOT or not spelling.is_for_training:
        return None
    section = any(map(_LOSS.fullmatch, spelling.around))
    if isinstance(spelling.value, str):
        names = spelling.leaf in {"type", "name", "target"} and section
        alone = _LOSS.fullmatch(spelling.leaf) or spelling.leaf in {"loss_type", "loss_fn", "loss_name"}
        return Amount(spelling.value.rpartition(".")[2], part=_term(spelling)) if names or alone else None
    weighs = any(_WEIGHT.fullmatch(word) for word in spelling.words)
    speaks = section or any(_LOSS.fullmatch(word) for word in spelling.words) or spelling.says("lambda")
    if not (weighs and speaks) or spelling.number is None:
        return None
    return Amount(spelling.number, part=f"weight of {_term(spelling)}")


def _term(spelling: Spelling) -> str:
    """The term that a setting is about: what stands before the weight, or its place in a list."""
    rest = "_".join(w for w in spelling.leaf.split("_") if not (_WEIGHT.fullmatch(w) or _LOSS.fullmatch(w)))
    if rest and rest not in {"type", "name", "target", "fn"}:
        return rest
    parts = [str(part) for part in spelling.setting.key[:-1]]
    return ".".join(parts[-2:]) or spelling.leaf
