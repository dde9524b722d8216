"""The known weights of the means among the addends of a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.addends import DEPTH, Addend, applied_in, made_at
from stethoscope.program.objective.declared_numbers import declared_numbers, number
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import callable_name, comes_from_model, is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Leaf,
    Part,
    Site,
    Value,
)

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
    made_at: Site | None = None  # where its formula is written


@dataclass(frozen=True, slots=True, eq=False)
class KnownNumbers:
    """The numbers that are known in a program: written out, or declared for a setting."""

    index: Index
    settings: SettingsTree

    def of(self, value: Value) -> float | None:
        """The number that a value is, None where it is not known."""
        known = number(value)
        if known is not None or not isinstance(value, Part | Leaf | Choice):
            return known
        found = declared_numbers(self.index, self.settings, [value])
        return next((known for _, known in found.values()), None)


def weighed(one: Minimised, numbers: KnownNumbers, addends: Sequence[Addend]) -> Iterator[TermWeight]:
    """The means among the addends, each with its weight and the largest of the others'."""
    known = [
        (mean, addend.value)
        for addend in addends
        if isinstance(addend.value, Applied | Delayed)
        and (mean := _weight_of_mean(one.run, numbers, addend.value, addend.factor, DEPTH)) is not None
    ]
    plain = [
        own_weight(numbers, addend.value, abs(addend.factor))
        for addend in addends
        if not _is_of_divided(one.run, numbers, addend.value)
    ]
    for mean, value in known:
        others = [other.weight for other, another in known if another.site is not value.site]
        if others or len(addends) > 1:
            yield TermWeight(
                value.site,
                mean.weight,
                max(others, default=0.0),
                one.sink.site,
                mean.is_bounded,
                max(plain, default=0.0),
                made_at(one.run, value),
            )


def _is_of_divided(run: Execution, numbers: KnownNumbers, value: Value) -> bool:
    """Whether a loss compares what was divided by sizes, as Gram matrices are: its weight makes up for it."""
    losses = (one for one in applied_in(run, value) if one.callee.rpartition(".")[2] in MEANS - {"mean"})
    divided = (one for loss in losses for side in loss.args for one in applied_in(run, side))
    return any(one.callee == "/" and numbers.of(one.args[1]) is None for one in divided)


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    weight: float
    is_bounded: bool


def own_weight(numbers: KnownNumbers, value: Value, factor: float) -> float:
    """The product of the known numbers before a term, whatever the term is; 0 where one is not known."""
    match value:
        case Applied(callee="neg", args=[inner]):
            return own_weight(numbers, inner, factor)
        case Applied(callee="*", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                known = numbers.of(scale)
                if known is not None:
                    return own_weight(numbers, inner, factor * abs(known))
            return 0.0
        case Applied(callee="/", args=[inner, scale]):
            known = numbers.of(scale)
            return own_weight(numbers, inner, factor / abs(known)) if known else 0.0
    return factor


def _weight_of_mean(
    run: Execution, numbers: KnownNumbers, value: Value, factor: float, depth: int
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
            return _masked_mean(run, numbers, value, factor)
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


def _masked_mean(run: Execution, numbers: KnownNumbers, value: Applied, factor: float) -> _Mean | None:
    """`(loss * mask).sum() / mask.sum()`: a mean over some of the values."""
    summed, count = value.args
    if isinstance(summed, Applied) and summed.callee == "*":
        known = numbers.of(summed.args[0])
        summed, factor = (summed.args[1], factor * known) if known else (summed, factor)
    while (
        isinstance(count, Applied)
        and count.args
        and count.callee.rpartition(".")[2] in {"clamp", "clamp_min", "max"}
    ):
        count = count.args[0]
    if value.callee != "/" or not (_is_sum(summed) and _is_sum(count)) or comes_from_model(run, count):
        return None
    names = {one.callee.removesuffix("()").rpartition(".")[2] for one in applied_in(run, summed)}
    return _Mean(abs(factor), bool(names & (MEANS | {"kl_div"}) - {"mean"}))


def _is_sum(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] == "sum"


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
