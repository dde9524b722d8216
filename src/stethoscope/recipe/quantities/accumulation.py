"""Over how many batches gradients are gathered before an update.

gradient_accumulation_steps: 4      accumulate_grad_batches      accum_iter      grad_accum      update_freq
"""

from __future__ import annotations

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("accumulation", 21)

_WORDS = frozenset({"accum", "accumulate", "accumulation", "accumulated", "gradacc"})
_SPELLINGS = frozenset({"update_freq", "grad_acc_steps", "grad_acc", "acc_steps", "gas", "cumulative_iters"})
_ABOUT_OTHER_THINGS = frozenset({"eval", "metric", "metrics", "dtype", "fp32", "allreduce", "loss", "ema"})
MOST = 100_000  # more batches than any window holds; beyond, it counts tokens or samples


def read(spelling: Spelling) -> Amount | None:
    """A whole positive number under a name that speaks of accumulation."""
    number = spelling.number
    if number is None or not 1 <= number <= MOST or number != int(number):
        return None
    if spelling.says(*_ABOUT_OTHER_THINGS, "tokens", "samples"):
        return None
    speaks = spelling.words & _WORDS or spelling.leaf in _SPELLINGS
    return Amount(int(number)) if speaks else None
