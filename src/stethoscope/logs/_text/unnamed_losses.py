"""The losses among numbers that a log gives no name but a role or a total: `Train 1.95 | Val 1.82`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stethoscope.logs._reading.points import Points
from stethoscope.logs._text.roles import HELD_OUT, ROLE_ALONE, role_in, spaced, without_roles
from stethoscope.logs._text.rows import Numbers
from stethoscope.run.names import canonical


def losses_by_numbers(points: Points) -> dict[str, str]:
    """Of the names that only say a role (`Train 1.95 | Val 1.82`), those whose numbers are a loss's.

    They may as well be accuracies. A loss falls as the loss does that is logged beside, and is of its size.
    Where a score is named beside, the bare number is none, and the loss may go where it will.
    """
    if not any(map(ROLE_ALONE.fullmatch, points.steps)):
        return {}
    return losses_among({name: _finite(points, name) for name in points.steps})


def losses_among(curves: Mapping[str, tuple[Numbers, Numbers]]) -> dict[str, str]:
    """The same of steps and values by the names they were logged under."""
    bare = [name for name in curves if ROLE_ALONE.fullmatch(name)]
    spoken = {canonical(name): name for name in curves}
    named: dict[str, str] = {}
    scored = any(said.startswith(("train/", "val/")) and said != "val/loss" for said in spoken)
    loss = spoken.get("loss")
    if loss is None:
        loss = next((name for name in bare if role_in(name) == "train"), None)
        if loss is None or not (_falls(curves[loss][1]) or (scored and _is_fractional(curves[loss][1]))):
            return {}
        named[loss] = "loss"
    held = [name for name in bare if role_in(name) == "val"]
    for name in sorted(held, key=lambda name: name.lower().startswith("test")):
        is_loss = _is_fractional(curves[name][1]) if scored else _alike(curves[name], curves[loss])
        if "val/loss" not in spoken and is_loss:
            named[name] = spoken["val/loss"] = "val/loss"
    return named


_TOTAL = re.compile(r"(?:total|tot|sum|overall|all)", re.IGNORECASE)
_ABOVE_TERMS = 0.98  # of a total's values are no less than every term beside; printed digits are rounded


def totals_of_terms(points: Points) -> dict[str, str]:
    """The totals that stand beside terms of a loss, `ce=2.29 kl=0.10 total=2.39`, as the loss.

    A total may be one of samples or seconds. A loss has fractions and falls at times, and is no less than
    a term of it.
    """
    spoken = {name: canonical(name) for name in points.steps}
    named: dict[str, str] = {}
    for name in points.steps:
        words = spaced(name).split()
        own = without_roles(name)
        if len(own) != 1 or not _TOTAL.fullmatch(own[0]) or len(words) > 2:
            continue
        loss = "val/loss" if role_in(name) == HELD_OUT else "loss"
        terms = [other for other, said in spoken.items() if said.startswith(f"{loss}/")]
        if loss in {*spoken.values(), *named.values()} or not terms:
            continue
        if all(_is_above(_finite(points, name), _finite(points, term)) for term in terms):
            named[name] = loss
    return named


def _is_above(total: tuple[Numbers, Numbers], term: tuple[Numbers, Numbers]) -> bool:
    """Whether values are those of a total with this term, printed at the same steps."""
    (steps, totals), (term_steps, terms) = total, term
    if len(totals) < _FEWEST or not np.array_equal(steps, term_steps):
        return False
    measured = bool((totals != np.floor(totals)).any() and (np.diff(totals) < 0).any())
    return measured and bool((totals >= terms - 1e-9).mean() >= _ABOVE_TERMS)


_FEWEST = 4  # values that show a direction
_SAME_SIZE = 2.5  # times larger or smaller, at most, is a validation loss than training's at the beginning


def _finite(points: Points, name: str) -> tuple[Numbers, Numbers]:
    values = np.asarray(points.values[name].array(), dtype=np.float64)
    steps = np.asarray(points.steps[name].array(), dtype=np.float64)
    good = np.isfinite(values)
    return steps[good], values[good]


def _falls(values: Numbers) -> bool:
    third = max(1, len(values) // 3)
    if len(values) < _FEWEST or not (values > 0).all():
        return False
    return bool(np.median(values[-third:]) < np.median(values[:third]))


def _is_fractional(values: Numbers) -> bool:
    return len(values) >= _FEWEST and bool((values > 0).all() and (values != np.floor(values)).any())


def _alike(one: tuple[Numbers, Numbers], loss: tuple[Numbers, Numbers]) -> bool:
    """Whether values begin at the size of a loss and go its way, for the first half at least."""
    values = one[1]
    if not _of_one_size(one, loss):
        return False
    if len(values) < _FEWEST:
        return bool(values[0] > 1)  # no share of anything
    half = max(_FEWEST, len(values) // 2)
    return _falls(values[:half]) and _falls(_beside(one, loss)[:half])


def _of_one_size(one: tuple[Numbers, Numbers], loss: tuple[Numbers, Numbers]) -> bool:
    """Whether values begin at the size of a loss."""
    values = one[1]
    if len(values) == 0 or len(loss[1]) == 0 or not (values > 0).all():
        return False
    early = max(1, min(5, len(values) // 4))
    sizes = np.median(values[:early]), np.median(_beside(one, loss)[:early])
    return bool(1 / _SAME_SIZE <= sizes[0] / max(sizes[1], 1e-300) <= _SAME_SIZE)


def _beside(one: tuple[Numbers, Numbers], loss: tuple[Numbers, Numbers]) -> Numbers:
    """The losses at the steps of the other values, or before them."""
    steps, losses = loss
    return losses[np.clip(np.searchsorted(steps, one[0], side="right") - 1, 0, None)]
