"""Terms of a loss in which errors cancel before they are counted, tried on numbers.

A comparison of prediction and target is computed by its own formula. Where it stays the same when every
sample gets another one's prediction, it averages over the samples before it compares; where errors that are
zero on average in each sample cost nothing, it averages over the places; where it falls by as much for an
error as it rises for the opposite one, it never takes their size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Function, Index
from stethoscope.program.objective.addends import DEPTH, Addend, addends_of, applied_in, made_at
from stethoscope.program.objective.probe import score
from stethoscope.program.objective.shared_values import shared_values
from stethoscope.program.objective.term_sizes import Formula, formulas
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Delayed, Part, Site

Array = npt.NDArray[np.float64]

# Shapes of prediction and target, the usual ones first; where they differ, people drop a channel.
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((4, 1, 20, 20), (4, 1, 20, 20)),
    ((4, 3, 20, 20), (4, 3, 20, 20)),
    ((4, 1, 20, 20), (4, 20, 20)),
    ((4, 20, 20), (4, 1, 20, 20)),
    ((8, 6), (8, 6)),
    ((8,), (8,)),
    ((8, 1), (8,)),
    ((8,), (8, 1)),
)
EXACT = 1e-9  # of the size of a term: what is equal but for rounding
ERROR = 0.1
CLASSES = ((0.0, 1.0), (-1.0, 1.0))  # how people write down which of two
MOST_TERMS = 12
PICKING = frozenset({"[]", "gather", "take_along_dim", "take_along_axis", "index_select"})
# What compares sets rather than pairs, on purpose.
OF_SETS = frozenset({
    "sort", "argsort", "topk", "cdist", "pdist", "histc", "histogram", "bincount", "kthvalue", "quantile",
    "median", "matmul", "mm", "bmm", "einsum", "@", "exp", "cov", "corrcoef", "svd", "softmax", "log_softmax",
    "linear_sum_assignment", "logsumexp", "cumsum", "var", "std", "multi_head_attention_forward",
})  # fmt: skip
SET_WORDS = re.compile(
    r"moment|match|mmd|hist|style|gram|coral|swd|wasser|distrib|statist|prior|divers|marginal|parity|fair|calib|"
    r"budget|balanc|critic|gan_|adv|sinkhorn|cycle_mean|unpaired|entrop|polic|reward|domain|"
    r"(?<![a-z])kl(?![a-z])|log_?p(?:rob|i)?s?(?![a-z])",
    re.IGNORECASE,
)
# What compares what is left of a sample on average, on purpose.
MEAN_WORDS = re.compile(
    r"bright|colou?r|count|mass|total|energy|avg|average|global|bias|expos|flux|power|volume|gap|mean_|_mean|"
    r"level|conserv|integral|pool",
    re.IGNORECASE,
)
ELEMENTWISE_WORDS = re.compile(
    r"pixel|pix_|_pix|(?<![a-z0-9])(?:l1|l2|mse|mae)(?![a-z0-9])|charbonnier|huber|recon", re.IGNORECASE
)


class Cancels(StrEnum):
    """What errors cancel over."""

    SAMPLES = "samples"
    PLACES = "places"
    SIGNS = "signs"


@dataclass(frozen=True, slots=True, eq=False)
class CancellingTerm:
    """A term of a loss in which errors cancel; `is_alone` where no other term compares pair by pair."""

    site: Site
    sink: Site
    over: Cancels
    is_alone: bool


@remembered
def cancelling_errors(index: Index, settings: SettingsTree) -> tuple[CancellingTerm, ...]:
    """The terms of everything that is minimised in which errors cancel."""
    found: dict[int, CancellingTerm] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            terms = list(_terms(one, index, settings))
        except (Exhausted, RecursionError):
            continue
        found.update({id(term.site.node): term for term in terms})
    return tuple(found.values())


def _terms(one: Minimised, index: Index, settings: SettingsTree) -> Iterator[CancellingTerm]:
    addends = list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]
    shared = shared_values([addend.value for addend in addends])
    tried = [_tried(one, index, settings, addend, shared) for addend in addends]
    for addend, (computed, over) in zip(addends, tried, strict=True):
        if over is None or not isinstance(addend.value, Applied | Delayed):
            continue
        others = [
            (known, kind) for other, (known, kind) in zip(addends, tried, strict=True) if other is not addend
        ]
        is_alone = not any(kind is None for known, kind in others)
        site = made_at(one.run, addend.value) or addend.value.site
        is_beside = any(known and kind is None for known, kind in others) or any(
            _is_spread(one, other) for other in addends if other is not addend
        )
        is_free = is_alone if over is Cancels.PLACES else not is_beside
        if computed and _is_meant(index, one, addend, site, over, is_free):
            yield CancellingTerm(site, one.sink.site, over, is_alone)


def _tried(
    one: Minimised, index: Index, settings: SettingsTree, addend: Addend, shared: frozenset[int]
) -> tuple[bool, Cancels | None]:
    """Whether a term could be computed as a comparison, and what its errors cancel over."""
    if not isinstance(addend.value, Applied | Delayed) or _is_of_sets(one, addend):
        return False, None
    found: set[str] = set()
    for formula in formulas(one.run, index, settings, addend.value, shared):
        # A number that only weighs the term is no side of a comparison, and neither is a network's input.
        has_prediction = any(comes_from_model(one.run, side) for side in formula.compared)
        is_whole = not _picks_by(one, formula) and not _takes_apart(one, formula)
        if has_prediction and not formula.is_of_features and is_whole:
            over = _over_all(index, formula, _needs_pictures(one, addend))
            found |= {over} if over is not None else set()
    # Each way to see the term as a comparison must say the same: none knows the shapes of the data.
    is_agreed = len(found) == 1 and NOTHING not in found
    return bool(found), Cancels(found.pop()) if is_agreed else None


NOTHING = "nothing"


def _picks_by(one: Minimised, formula: Formula) -> bool:
    """Whether a side says which of the other are taken: `scores[rows, label]` compares nothing."""
    sides = {id(side) for side in formula.compared}
    for value in applied_in(one.run, formula.value):
        if value.callee.rpartition(".")[2] not in PICKING:
            continue
        keys = (*value.args[1:], *value.keywords.values())
        if any(id(inner) in sides for key in keys for inner in ingredients(one.run, key)):
            return True
    return False


def _takes_apart(one: Minimised, formula: Formula) -> bool:
    """Whether a side is several values, one of which is compared: `velocity, noise = out.unbind(1)`."""
    sides = {id(side) for side in formula.compared}
    return any(
        isinstance(value, Part) and isinstance(value.key, int) and id(value.base) in sides
        for value in ingredients(one.run, formula.value)
    )


def _over_all(index: Index, formula: Formula, is_of_pictures: bool) -> str | None:
    """What errors cancel over whatever the data are; None where nothing can be computed."""
    found: set[str] = set()
    for shape, wanted in SHAPES:
        if is_of_pictures and len(shape) < 4:
            continue
        if shape != wanted and found != {Cancels.SAMPLES}:
            continue  # one that lost a channel looks at every sample with every other
        kind = _over(index, formula, shape, wanted)
        found |= {kind} - {""}
        if NOTHING in found or len(found) > 1:
            return NOTHING
    return found.pop() if found else None


def _needs_pictures(one: Minimised, addend: Addend) -> bool:
    return any(re.search(r"2d|fft2|fftn", value.callee) for value in applied_in(one.run, addend.value))


def _over(index: Index, formula: Formula, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """What errors cancel over for data of these shapes; "" where the term cannot be computed for them."""
    kind = _over_amounts(index, formula, shape, wanted)
    is_cancelled = kind in set(Cancels)
    return NOTHING if is_cancelled and _counts_for_classes(index, formula, kind, shape, wanted) else kind


def _over_amounts(index: Index, formula: Formula, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """The same where targets are amounts, with predictions around them."""
    rng = np.random.default_rng(len(shape))
    target = rng.uniform(0.2, 0.8, shape)
    noise = ERROR * rng.normal(size=shape)
    tries = (
        target,
        target + noise,
        target - noise,
        np.roll(target, 1, axis=0),
        target + _balanced(noise),
    )
    scores = [_computed(index, formula, shown, target.reshape(wanted)) for shown in tries]
    scores.append(_computed(index, formula, target, (target + noise).reshape(wanted)))
    if None in scores:
        return ""
    alike, more, less, others, balanced, moved = (number for number in scores if number is not None)
    size = max(abs(more), abs(less), abs(others), 1e-12)
    if abs(more - alike) <= EXACT * size or abs(moved - alike) <= EXACT * size:
        return ""  # the prediction has no say in it, or the target has none
    if _only_scales(index, formula, target, wanted):
        return ""
    is_difference = abs(alike) <= EXACT * size
    if abs(others - alike) <= EXACT * size:
        if abs(more + less - 2 * alike) > EXACT * size:
            return Cancels.SAMPLES
        # An error that is far off its target on one side only counts as it stands, sizes or not.
        return Cancels.SIGNS if is_difference else NOTHING
    if is_difference and abs(more + less) <= EXACT * size and abs(others) <= EXACT * size:
        return Cancels.SIGNS
    if shape[1:] not in {(), (1,)} and abs(balanced - alike) <= EXACT * size:
        return Cancels.PLACES
    return NOTHING


def _only_scales(index: Index, formula: Formula, target: Array, wanted: tuple[int, ...]) -> bool:
    """Whether a side is a factor or a divisor of all the rest: a count of samples, an advantage."""
    rng = np.random.default_rng(target.size)
    factors: list[float] = []
    for _ in range(2):
        shown = rng.uniform(0.2, 0.8, target.shape)
        one, two = (_computed(index, formula, shown, (n * target).reshape(wanted)) for n in (1, 2))
        if one is None or two is None or abs(one) < EXACT:
            return False
        factors.append(two / one)
    return abs(factors[0] - factors[1]) <= EXACT * abs(factors[0])


def _counts_for_classes(
    index: Index, formula: Formula, kind: str, shape: tuple[int, ...], wanted: tuple[int, ...]
) -> bool:
    """Whether single errors count where targets are one of two classes: no amount is ever `target == 1`."""
    for low, high in CLASSES:
        rng = np.random.default_rng(len(shape))
        target = np.where(rng.uniform(size=shape) < 0.5, low, high)
        target[0], target[1] = low, high
        shown = rng.uniform(0.8 * low + 0.2 * high, 0.2 * low + 0.8 * high, shape)
        changed = (
            shown + _balanced(ERROR * rng.uniform(-1, 1, shape))
            if kind == Cancels.PLACES
            else np.roll(shown, 1, axis=0)
        )
        one, other = (_computed(index, formula, given, target.reshape(wanted)) for given in (shown, changed))
        if one is not None and other is not None and abs(one - other) > EXACT * max(abs(one), abs(other)):
            return True
    return False


def _balanced(noise: Array) -> Array:
    """Errors that are zero on average in each sample, over the places that a loss is written for."""
    inner = (2, 3) if noise.ndim == 4 else tuple(range(1, noise.ndim))
    return noise - noise.mean(axis=inner, keepdims=True) if inner else noise


def _computed(index: Index, formula: Formula, prediction: Array, target: Array) -> float | None:
    given = (
        *(np.ones(target.shape, dtype=bool) for _ in formula.masks),
        *map(np.float64, formula.numbers.values()),
    )
    operands = (*formula.compared, *formula.masks, *formula.numbers)
    found = score(index, formula.value, operands, (prediction, target, *given))
    return found if found is not None and np.isfinite(found) else None


def _is_of_sets(one: Minimised, addend: Addend) -> bool:
    names = (
        value.callee.removesuffix("()").rpartition(".")[2]
        for value in applied_in(one.run, addend.value, formula_alone=True)
    )
    return any(name in OF_SETS for name in names)


def _is_spread(one: Minimised, addend: Addend) -> bool:
    """`d.var()`: beside it the square of the mean of the same errors is what completes it."""
    return any(
        value.callee.rpartition(".")[2] in {"var", "std"} for value in applied_in(one.run, addend.value)
    )


def _is_meant(index: Index, one: Minimised, addend: Addend, site: Site, over: Cancels, is_free: bool) -> bool:
    """Whether a term is meant to compare element by element, as far as names and the other terms tell."""
    about = " ".join(_said(index, one, addend, site))
    if SET_WORDS.search(about):
        return False
    if over is Cancels.PLACES and MEAN_WORDS.search(about):
        return False
    # Beside a term that compares one by one, averages are often compared on purpose.
    return is_free or over is Cancels.SIGNS or bool(ELEMENTWISE_WORDS.search(about))


def _said(index: Index, one: Minimised, addend: Addend, site: Site) -> Iterator[str]:
    yield site.text[:300]
    if isinstance(addend.value, Applied | Delayed):
        yield addend.value.site.text[:300]
    inside = [function for function in index.functions if _is_around(function, site)]
    yield from (function.spoken for function in inside)


def _is_around(function: Function, site: Site) -> bool:
    line = getattr(site.node, "lineno", 0)
    return function.source is site.source and function.node.lineno <= line <= (function.node.end_lineno or 0)
