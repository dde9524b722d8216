"""How large the terms of a loss are against each other, computed on small and large pictures.

The minimised value is taken apart at its sums. Each addend that compares a prediction with a target is
computed by its own formula, weight included, on pictures whose error is known. Nothing of the program runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stethoscope.program.declared_numbers import chosen_numbers, declared_numbers, number
from stethoscope.program.dropped_terms import dropped_sums
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.idle_terms import DROPPED, WEIGHED_OUT, IdleTerm, cut_at
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.network_passes import callable_name, is_network_pass
from stethoscope.program.own_losses import own_loss
from stethoscope.program.probe import operands_of, score
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.shared_values import shared_values
from stethoscope.program.silent_weights import silent_weight
from stethoscope.program.tensor_operations import LAYERS
from stethoscope.program.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Items,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

SMALL, LARGE = 32, 64  # sides of the pictures
ERRORS = (0.02, 0.2)  # standard deviations of a good and of a poor prediction, of values between 0 and 1
SHRINKS = 0.6  # from one side to its double: a half or less where a mean is divided by a size again
BATCH = 8
SOUND_DOUBLINGS = 8  # from 64 to 16,384 samples, a second of sound
MOST_TERMS = 12
MOST_VISITED = 400
MOST_TAKEN_APART = 600  # values of one sum that are looked into
DEPTH = 30
MASKS = frozenset({"mask", "masks", "valid", "validity", "weights", "keep"})
MEANS = frozenset({
    "mean", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "MSELoss", "L1Loss", "SmoothL1Loss",
    "HuberLoss", "CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss",
})  # fmt: skip


# Losses whose values are no huge numbers, by a word in their name.
BOUNDED = frozenset({
    "dice", "iou", "giou", "jaccard", "tversky", "ssim", "msssim", "lpips", "cosine", "triplet", "focal",
    "contrastive", "infonce", "charbonnier", "bce", "distill", "distillation", "alignment", "l1", "mae",
})  # fmt: skip

DISTRIBUTIONS = frozenset({"kl_div", "KLDivLoss", "softmax", "log_softmax", "Softmax", "LogSoftmax"})


@dataclass(frozen=True, slots=True, eq=False)
class TermSize:
    """One addend of a minimised value and how large it is.

    `sizes` maps (side of the picture, error) to the number; `is_spectral` says that it goes through a
    Fourier transform, and `spectrum` is where. `sink` tells the backward pass it belongs to. `scaled_at` is
    where a number further out weighs it. `assumed`
    are the numbers that the run may set otherwise, by the names they have, with the declared defaults.
    """

    site: Site
    sizes: Mapping[tuple[int, float], float]
    is_spectral: bool
    spectrum: Site | None
    sink: Site
    scaled_at: Site | None = None
    assumed: Mapping[str, float] = field(default_factory=dict)
    in_batch: float = 1.0  # the factor from one picture to a batch, for what shrinks with the picture
    doublings: int = 1  # of the side of the larger picture here, up to what is usual

    @property
    def growth(self) -> float:
        """The factor by which it grows when the side of the picture doubles."""
        return self.sizes[LARGE, ERRORS[0]] / max(self.sizes[SMALL, ERRORS[0]], 1e-300)

    def in_use(self, error: float) -> float:
        """How large it is on a usual batch of usual pictures, or of usual sounds.

        What grows is taken as it is: how much it outweighs the others is another question.
        """
        size = self.sizes[LARGE, error]
        return size * self.growth**self.doublings * self.in_batch if self.growth < SHRINKS else size


def with_assumed(term: TermSize) -> str:
    """What a sentence about a term ends with where numbers were taken from their declarations."""
    said = ", ".join(f"{name} = {number:g}" for name, number in term.assumed.items())
    return f", with {said} as declared" if said else ""


@dataclass(frozen=True, slots=True, eq=False)
class TermWeight:
    """One addend that is a mean times a known weight; `others` is the largest weight of the other means.

    `is_bounded` says that the mean is of a known loss, whose values are no huge numbers; `largest` is the
    largest weight of all addends, whatever they are.
    """

    site: Site
    weight: float
    others: float
    sink: Site
    is_bounded: bool = False
    largest: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Objectives:
    """For each minimised value the addends that could be computed, the weights of the means, and the addends
    that no gradient goes through."""

    sizes: tuple[tuple[TermSize, ...], ...]
    weights: tuple[TermWeight, ...]
    idle: tuple[IdleTerm, ...] = ()


@remembered
def objectives(index: Index, settings: SettingsTree) -> Objectives:
    """Take every minimised value apart that is a sum."""
    sizes: dict[int, tuple[TermSize, ...]] = {}
    weights: dict[int, tuple[TermWeight, ...]] = {}
    idle: dict[int, IdleTerm] = {}
    for one in minimised(index, settings):
        key = id(one.sink.site.node)
        if key in sizes or key in weights:
            continue
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            addends = list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]
            if len(addends) < 2:
                continue
            idle.update({id(term.cut.node): term for term in _idle(one, addends)})
            weights[key] = tuple(_weighed(one, _Numbers(index, settings), addends))
            with warnings.catch_warnings():  # empty slices and the like: no number, which is seen
                warnings.simplefilter("ignore")
                sizes[key] = tuple(_sized(one, index, settings, addends))
        except (Exhausted, RecursionError):
            continue
    idle.update({id(term.node): IdleTerm(term, term, sink, DROPPED) for term, sink in dropped_sums(index)})
    return Objectives(
        tuple(terms for terms in sizes.values() if terms),
        tuple(term for terms in weights.values() for term in terms),
        tuple(idle.values()),
    )


def _idle(one: Minimised, addends: Sequence[_Addend]) -> Iterator[IdleTerm]:
    cuts = [cut_at(one.run, addend.value) for addend in addends]
    if all(cuts):
        return  # what is learned from was not seen
    for addend, cut in zip(addends, cuts, strict=True):
        if not isinstance(addend.value, Applied | Delayed):
            continue
        if cut is not None:
            yield IdleTerm(addend.value.site, cut, one.sink.site)
            continue
        weight = silent_weight(one.run.index, addend.value, one.sink.site)
        if weight is not None:
            yield IdleTerm(addend.value.site, weight, one.sink.site, WEIGHED_OUT)


@dataclass(frozen=True, slots=True, eq=False)
class _Addend:
    """A part of a sum, and the known number that all of it is multiplied with further out."""

    value: Value
    factor: float = 1.0
    scaled_at: Site | None = None


def _sized(
    one: Minimised, index: Index, settings: SettingsTree, addends: Sequence[_Addend]
) -> Iterator[TermSize]:
    shared = shared_values([addend.value for addend in addends])
    for addend in addends:
        value = addend.value
        if not isinstance(value, Applied | Delayed) or _is_of_distributions(one.run, value):
            continue
        chosen = chosen_numbers(index, settings, value)
        for given in (chosen, chosen | shared):
            operands = [operand for operand in operands_of(index, value, given) if not _is_layer(operand)]
            numbers = declared_numbers(index, settings, operands)
            masks = [operand for operand in operands if _is_mask(operand)] if len(operands) > 2 else []
            compared = [o for o in operands if o not in numbers and o not in masks]
            if len(compared) == 2:
                break
        else:
            continue
        sizes = _sizes(index, value, compared, masks, {o: known for o, (_, known) in numbers.items()})
        if sizes is not None:
            spectrum = _spectrum(one.run, value)
            scaled = {key: size * abs(addend.factor) for key, size in sizes.items()}
            assumed = dict(numbers.values())
            site = spectrum.site if spectrum is not None else None
            term = TermSize(
                value.site, scaled, spectrum is not None, site, one.sink.site, addend.scaled_at, assumed
            )
            if term.growth < SHRINKS:
                known = {o: one for o, (_, one) in numbers.items()}
                doublings = SOUND_DOUBLINGS if spectrum is not None and _is_of_sound(spectrum) else 1
                in_batch = _in_batch(index, value, compared, masks, known)
                term = replace(term, in_batch=in_batch, doublings=doublings)
            yield term


def _is_of_distributions(run: Execution, value: Value) -> bool:
    """Whether a term compares distributions of scores: no pictures, and they may differ by any amount."""
    names = (one.callee.removesuffix("()") for one in _applied_in(run, value))
    return any(name.rpartition(".")[2] in DISTRIBUTIONS for name in names)


def _is_layer(value: Value) -> bool:
    """`nn.L1Loss()`: what computes, not what is compared."""
    return isinstance(value, Applied) and value.callee in LAYERS


def _is_mask(value: Value) -> bool:
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else ""
    return isinstance(name, str) and bool(MASKS.intersection(words(name)))


# Sums


def addends_of(run: Execution, value: Value, depth: int) -> Iterator[_Addend]:
    """The parts of a sum, looked for inside the functions that make it."""
    yield from _Sum(run).parts(value, 1.0, depth, is_common=True)


class _Sum:
    """Takes one sum apart; what was looked into is counted, since branches may hold each other many times."""

    def __init__(self, run: Execution) -> None:
        self.run = run
        self.left = MOST_TAKEN_APART

    def parts(self, value: Value, factor: float, depth: int, is_common: bool) -> list[_Addend]:
        """The addends of a value; `is_common` says that it is the whole sum, whose scale does not matter."""
        self.left -= 1
        if depth == 0 or self.left < 0:
            return [_Addend(value, factor)]
        match value:
            case Applied(callee="+" | "-", args=[left, right]):
                return [
                    *self.parts(left, factor, depth - 1, is_common=False),
                    *self.parts(right, factor, depth - 1, is_common=False),
                ]
            case Applied(callee="*" | "/" | ".mul" | ".div"):
                return self._scaled(value, factor, depth, is_common)
            case Applied(callee=callee, args=[Applied(args=[Items(items=items), *_]) as stacked, *_]) if (
                callee.rpartition(".")[2] in {"sum", "mean"} and stacked.callee.endswith("stack")
            ):
                return [
                    part for item in items for part in self.parts(item, factor, depth - 1, is_common=False)
                ]
            case Applied(callee=callee, args=[Applied() as summed]) if (
                callee in {".mean", "torch.mean"} and not value.keywords
            ):
                # The mean of a sum, such as that of weighed pictures, is the sum of the means.
                inner = self.parts(summed, factor, depth - 1, is_common)
                return inner if len(inner) > 1 and _are_means(self.run, inner) else [_Addend(value, factor)]
            case Delayed() if not is_network_pass(self.run.index, value):
                inner = self.parts(self.run.expand(value), factor, depth - 1, is_common)
                return inner if len(inner) > 1 else [_Addend(value, factor)]
            case Choice(options=options):
                # Optional terms are judged as they are where they are on.
                return max((self.parts(o, factor, depth - 1, is_common) for o in options), key=len)
            case Constant():
                return []
            case Applied(callee="sum", args=[Items(items=items), *_]):
                return [part for i in items for part in self.parts(i, factor, depth - 1, is_common=False)]
        loss = own_loss(self.run, value)
        if loss is not None:
            return self.parts(loss, factor, depth - 1, is_common)
        return [_Addend(value, factor)]

    def _scaled(self, value: Applied, factor: float, depth: int, is_common: bool) -> list[_Addend]:
        first, *others = value.args
        pairs = [(first, others[0])] if others else []
        if value.callee == "*" and others:
            pairs.append((others[0], first))
        for inner, scale in pairs:
            known = number(scale)
            if known is None and not is_common:
                continue
            times = 1.0 if not known else known if value.callee in {"*", ".mul"} else 1 / known
            found = self.parts(inner, factor * times, depth - 1, is_common)
            if len(found) > 1:
                at = value.site if known is not None else None
                return [_Addend(part.value, part.factor, at or part.scaled_at) for part in found]
        return [_Addend(value, factor)]


def _are_means(run: Execution, addends: Sequence[_Addend]) -> bool:
    """Whether each addend is a mean already, over all but one axis."""
    return all(
        any(one.callee in {".mean", "torch.mean"} for one in _applied_in(run, addend.value))
        for addend in addends
    )


# Weights


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """The numbers that are known in a program: written out, or declared for a setting."""

    index: Index
    settings: SettingsTree

    def of(self, value: Value) -> float | None:
        known = number(value)
        if known is not None or not isinstance(value, Part | Leaf | Choice):
            return known
        found = declared_numbers(self.index, self.settings, [value])
        return next((known for _, known in found.values()), None)


def _weighed(one: Minimised, numbers: _Numbers, addends: Sequence[_Addend]) -> Iterator[TermWeight]:
    """The means among the addends, each with its weight and the largest of the others'."""
    known = [
        (mean, addend.value.site)
        for addend in addends
        if isinstance(addend.value, Applied | Delayed)
        and (mean := _weight_of_mean(one.run, numbers, addend.value, addend.factor, DEPTH)) is not None
    ]
    plain = [_own_weight(numbers, addend.value, abs(addend.factor)) for addend in addends]
    for mean, site in known:
        others = [other.weight for other, where in known if where is not site]
        if others or len(addends) > 1:
            yield TermWeight(
                site, mean.weight, max(others, default=0.0), one.sink.site, mean.is_bounded, max(plain)
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    weight: float
    is_bounded: bool


def _own_weight(numbers: _Numbers, value: Value, factor: float) -> float:
    """The product of the known numbers before a term, whatever the term is; 0 where one is not known."""
    match value:
        case Applied(callee="neg", args=[inner]):
            return _own_weight(numbers, inner, factor)
        case Applied(callee="*", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                known = numbers.of(scale)
                if known is not None:
                    return _own_weight(numbers, inner, factor * abs(known))
            return 0.0
        case Applied(callee="/", args=[inner, scale]):
            known = numbers.of(scale)
            return _own_weight(numbers, inner, factor / abs(known)) if known else 0.0
    return factor


def _weight_of_mean(
    run: Execution, numbers: _Numbers, value: Value, factor: float, depth: int
) -> _Mean | None:
    """What a mean over many values is multiplied with; None for sums and what is not understood."""
    if depth == 0:
        return None
    match value:
        case Applied(callee="neg", args=[inner]):
            return _weight_of_mean(run, numbers, inner, factor, depth - 1)
        case Applied(callee="-", args=[Constant(), inner]):
            return _weight_of_mean(run, numbers, inner, factor, depth - 1)
        case Applied(callee="*" | "/", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                known = numbers.of(scale)
                if known and (value.callee == "*" or scale is right):
                    times = known if value.callee == "*" else 1 / known
                    return _weight_of_mean(run, numbers, inner, factor * times, depth - 1)
        case Applied(callee=callee, args=args, keywords=keywords, maker=maker):
            options = {**(maker.keywords if maker is not None else {}), **keywords}
            reduction = options.get("reduction")
            is_mean = reduction is None or (isinstance(reduction, Constant) and reduction.value == "mean")
            last = callee.removesuffix("()").rpartition(".")[2]
            if is_mean and last in MEANS:
                return _Mean(abs(factor), last != "mean" or (bool(args) and _is_bounded(args[0])))
            if BOUNDED.intersection(words(last if callee != "()" else callable_name(args[0]))):
                return _Mean(abs(factor), True)
        case Delayed() if not is_network_pass(run.index, value) or BOUNDED.intersection(words(_named(value))):
            within = _weight_of_mean(run, numbers, run.expand(value), factor, depth - 1)
            if BOUNDED.intersection(words(_named(value))):
                return _Mean(within.weight if within is not None else abs(factor), True)
            return within
    return None


def _named(call: Delayed) -> str:
    """What a call is called: by its class for a module's forward pass."""
    if not isinstance(call.callee, FunctionValue):
        return ""
    function = call.callee.function
    is_forward = function.owner is not None and function.name in {"forward", "__call__"}
    return function.owner.name if is_forward and function.owner is not None else function.name


def _is_bounded(value: Value) -> bool:
    """Whether each value of a mean lies between small numbers, as cosines do, or is a squared difference."""
    match value:
        case Applied(callee="-" | "+", args=[Constant(), inner]) | Applied(callee="neg", args=[inner]):
            return _is_bounded(inner)
        case Applied(callee="-" | "+", args=[inner, Constant()]):
            return _is_bounded(inner)
        case Applied(callee="**", args=[Applied(callee="-"), Constant()]):
            return True
        case Applied(callee=callee, args=[first, *_]):
            last = callee.rpartition(".")[2]
            if last in {"flatten", "view", "reshape"}:
                return _is_bounded(first)
            is_difference = isinstance(first, Applied) and first.callee == "-"
            return last == "cosine_similarity" or (last in {"abs", "square", "pow"} and is_difference)
    return False


# Sizes


def _sizes(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
) -> dict[tuple[int, float], float] | None:
    sizes: dict[tuple[int, float], float] = {}
    for side in (SMALL, LARGE):
        for error in ERRORS:
            number = _size(index, value, compared, masks, numbers, (1, 3, side, side), error)
            if number is None:
                return None
            sizes[side, error] = number
    return sizes


def _in_batch(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
) -> float:
    """The factor by which a term changes from one picture to a batch."""
    shapes = ((count, 3, SMALL, SMALL) for count in (1, BATCH))
    one, many = (_size(index, value, compared, masks, numbers, shape, ERRORS[0]) for shape in shapes)
    return many / one if one and many else 1.0


def _size(
    index: Index,
    value: Value,
    compared: Sequence[Value],
    masks: Sequence[Value],
    numbers: Mapping[Value, float],
    shape: tuple[int, ...],
    error: float,
) -> float | None:
    rng = np.random.default_rng(shape[-1])
    target = rng.uniform(0.2, 0.8, shape)
    noise = rng.normal(size=shape)
    given = (*(np.ones(shape, dtype=bool) for _ in masks), *map(np.float64, numbers.values()))
    operands = (*compared, *masks, *numbers)
    number = score(index, value, operands, (target + error * noise, target, *given))
    return abs(number) if number is not None and np.isfinite(number) else None


def _is_of_sound(transform: Applied) -> bool:
    """Whether a Fourier transform goes along the last axis alone, as that of a sound does."""
    dim = transform.keywords.get("dim", transform.args[2] if len(transform.args) > 2 else Constant(-1))
    is_last = isinstance(dim, Constant) and dim.value == -1
    return transform.callee.rpartition(".")[2] in {"fft", "rfft"} and is_last


def _spectrum(run: Execution, value: Value) -> Applied | None:
    """The Fourier transform inside a value."""
    return next((one for one in _applied_in(run, value) if ".fft." in f".{one.callee}"), None)


def _applied_in(run: Execution, value: Value) -> Iterator[Applied]:
    """The operations inside a value, networks not entered."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Applied):
            yield current
        if isinstance(current, Delayed) and not is_network_pass(run.index, current):
            waiting.append(run.expand(current))
        waiting.extend(inputs(current))
