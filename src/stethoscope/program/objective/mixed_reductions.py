"""Sums over a whole batch that are added to means over one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.index import Index
from stethoscope.program.objective.addends import DEPTH, Addend, addends_of, applied_in
from stethoscope.program.objective.term_weights import MEANS, KnownNumbers
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_network_pass
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value

MOST_TERMS = 12
# Of the mean's weight that the sum's must have. A batch of 32 with 16 numbers each makes a sum 512 times as
# large as its mean, so that a sum of a tenth of the weight outweighs its neighbour fifty times.
UNDIVIDED = 0.1
LOSSES = MEANS - {"mean"} | {"kl_div", "KLDivLoss", "poisson_nll_loss", "gaussian_nll_loss"}


class Reduction(StrEnum):
    """What was made of the numbers of a batch."""

    SUM = "sum"
    MEAN = "mean"


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """A term of a loss, how its numbers were reduced to one, and the number it is multiplied with."""

    reduction: Reduction
    weight: float
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class MixedReductions:
    """A sum and a mean that are added up, and the backward pass they belong to."""

    total: Reduced
    mean: Reduced
    sink: Site


@remembered
def mixed_reductions(index: Index, settings: SettingsTree) -> tuple[MixedReductions, ...]:
    """The objectives in which a sum over the batch stands beside a mean, undivided."""
    found: dict[int, MixedReductions] = {}
    numbers = KnownNumbers(index, settings)
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            mixed = _mixed(one, numbers)
        except (Exhausted, RecursionError):
            continue
        if mixed is not None:
            found.setdefault(id(mixed.total.site.node), mixed)
    return tuple(found.values())


def _mixed(one: Minimised, numbers: KnownNumbers) -> MixedReductions | None:
    addends = list(addends_of(one.run, one.sink.value, DEPTH))[:MOST_TERMS]
    known = [term for addend in addends if (term := _reduced(one.run, numbers, addend)) is not None]
    totals = [term for term in known if term.reduction is Reduction.SUM]
    means = [term for term in known if term.reduction is Reduction.MEAN and term.weight > 0]
    if len(addends) < 2 or not totals or not means:
        return None
    total, mean = max(totals, key=lambda term: term.weight), min(means, key=lambda term: term.weight)
    is_undivided = total.weight >= UNDIVIDED * max(term.weight for term in means)
    return MixedReductions(total, mean, one.sink.site) if is_undivided else None


def _reduced(run: Execution, numbers: KnownNumbers, addend: Addend) -> Reduced | None:
    return _followed(run, numbers, addend.value, abs(addend.factor), DEPTH)


def _followed(
    run: Execution, numbers: KnownNumbers, value: Value, weight: float, depth: int
) -> Reduced | None:
    """How a term was reduced; None where it is divided or weighed by what is not known."""
    if depth == 0:
        return None
    match value:
        case Applied(callee="neg", args=[inner]):
            return _followed(run, numbers, inner, weight, depth - 1)
        case Applied(callee="*", args=[left, right]):
            for inner, scale in ((left, right), (right, left)):
                if (known := numbers.of(scale)) is not None:
                    return _followed(run, numbers, inner, weight * abs(known), depth - 1)
        case Applied(callee="/", args=[inner, scale]):
            known = numbers.of(scale)
            return _followed(run, numbers, inner, weight / abs(known), depth - 1) if known else None
        case Delayed() if not is_network_pass(run.index, value):
            return _followed(run, numbers, run.expand(value), weight, depth - 1)
        case Applied() if comes_from_model(run, value):
            reduction = _reduction(run, numbers, value)
            return Reduced(reduction, weight, value.site) if reduction is not None else None
    return None


def _reduction(run: Execution, numbers: KnownNumbers, value: Applied) -> Reduction | None:
    last = value.callee.removesuffix("()").rpartition(".")[2]
    if last in LOSSES:
        options = {**(value.maker.keywords if value.maker is not None else {}), **value.keywords}
        told = options.get("reduction", Constant("mean"))
        known = told.value if isinstance(told, Constant) else None
        return Reduction(known) if known in {"sum", "mean"} and "weight" not in options else None
    is_whole = len(value.args) == 1 and not value.keywords
    if not is_whole or last not in {"sum", "mean"} or value.callee == "sum":
        return None
    if last == "sum" and not _is_plain(run, numbers, value.args[0]):
        return None
    return Reduction(last)


def _is_plain(run: Execution, numbers: KnownNumbers, value: Value) -> bool:
    """Whether what is summed was neither averaged nor divided or weighed by anything from elsewhere."""
    for one in applied_in(run, value):
        last = one.callee.removesuffix("()").rpartition(".")[2]
        # What was done is as likely as it is: the sum of an episode belongs to the returns it is weighed by.
        is_likelihood = last in {"log_prob", "log_likelihood", "detach"}
        reduces = last == "mean" or is_likelihood or (last in LOSSES and not _is_told(one, "none"))
        if reduces or "norm" in last or last in {"[]", "softmax", "where", "masked_fill"}:
            return False
        if one.callee in {"*", "/", ".mul", ".div"} and not all(
            numbers.of(arg) is not None or comes_from_model(run, arg) for arg in one.args
        ):
            return False
    return True


def _is_told(call: Applied, reduction: str) -> bool:
    options = {**(call.maker.keywords if call.maker is not None else {}), **call.keywords}
    told = options.get("reduction")
    return isinstance(told, Constant) and told.value == reduction
