"""Whether the transformer that is trained norms its sums (post-norm) or its branches (pre-norm)."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.weights.norm_placement import norm_placement
from stethoscope.run import Run, Setting, Where
from stethoscope.signals.missing import NO_SOURCE, Missing

_FIRST = frozenset(
    {"norm_first", "pre_norm", "prenorm", "pre_ln", "normalize_before", "encoder_normalize_before"}
)
_LAST = frozenset({"post_norm", "postnorm", "post_ln"})
_ORDER = frozenset(
    {"norm", "norm_type", "norm_position", "norm_order", "ln_position", "norm_style", "norm_placement"}
)


@dataclass(frozen=True, slots=True, eq=False)
class NormOrder:
    """`post` says that sums are normed; `where` shows it."""

    post: bool
    where: tuple[Where, ...]


def measure(run: Run) -> NormOrder | Missing:
    """By the source, and by the settings where the source knows both orders."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    placed = norm_placement(run.program)
    if not placed.behind and not placed.before and not placed.chosen:
        return Missing("no block of a transformer was found in the source")
    asked = next((one for one in run.recipe or () if _says(one) is not None), None)
    if placed.chosen or (placed.behind and placed.before):
        if asked is None:
            return Missing("the source knows both orders of norm and branch, and no setting chooses")
        return NormOrder(_says(asked) is True, (asked.where, *placed.behind[:1]))
    return NormOrder(bool(placed.behind), (placed.behind or placed.before)[:1])


def _says(setting: Setting) -> bool | None:
    """Whether a setting asks for normed sums; None where it does not speak of them."""
    leaf, value = setting.leaf.lower(), setting.value
    if leaf in _FIRST and isinstance(value, bool):
        return not value
    if leaf in _LAST and isinstance(value, bool):
        return value
    if leaf in _ORDER and isinstance(value, str) and value.lower().startswith(("post", "pre")):
        return value.lower().startswith("post")
    return None
