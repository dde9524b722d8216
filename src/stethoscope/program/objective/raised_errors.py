"""Errors against targets that enter what is minimised with a minus: training raises them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.ingredients import LAYOUT, is_drawn, peeled
from stethoscope.program.data.input_scales import READING
from stethoscope.program.index import Index
from stethoscope.program.likenesses import APART, ATTACK
from stethoscope.program.objective.costs_of_errors import raised_for_labels
from stethoscope.program.objective.orientation import Contribution, Reader
from stethoscope.program.objective.own_losses import own_loss
from stethoscope.program.objective.taken_apart import Objective, allow_reading, objectives
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model, is_network_pass
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Items, Leaf, Part, Site, Value

DEPTH = 40
MOST_VISITED = 400
# What keeps a minus a minus: no hinge, no constant that it is taken from.
LINEAR = LAYOUT | {
    "neg",
    "negative",
    "mean",
    "sum",
    "*",
    "/",
    "mul",
    "div",
    "+",
    "-",
    "[]",
    "add",
    "sub",
    "nanmean",
}
# What rises with what it is given, without an end to the error that makes it small.
RISING = frozenset({"exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sigmoid", "tanh", "softplus"})
MADE = frozenset(
    {"zeros", "ones", "zeros_like", "ones_like", "full", "full_like", "eye", "new_zeros", "new_ones"}
)
COMBINING = frozenset({"cat", "concat", "concatenate", "stack", "+", "-", "%", "repeat", "roll"})
SIZING = frozenset({"**", "pow", "square", "abs", "*"})
GAMES = re.compile(
    r"domain|confus|revers|advers|discrim|critic|generator|fake|(?<![a-z])gan(?![a-z])|bias|protect|sensitive|maximi[sz]|ascent|worst|"
    r"inner|robust|explor|novel|curios|surpris|uncertain|polic|reward|advant|(?<![a-z])actor|unlikel|reject|entrop",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class RaisedError:
    """An error of a prediction that training raises, and the backward pass that does it."""

    site: Site
    sink: Site


@remembered
def raised_errors(index: Index, settings: SettingsTree) -> tuple[RaisedError, ...]:
    """The errors that the only function with a backward pass raises."""
    found = minimised(index, settings)
    if len({id(one.sink.within[-1]) if one.sink.within else 0 for one in found}) != 1:
        return ()  # one side of a game
    raised: dict[int, RaisedError] = {}
    for objective in objectives(index, settings):
        for value in _raised(objective):
            raised.setdefault(id(value.site.node), RaisedError(value.site, objective.one.sink.site))
    for one, value in raised_for_labels(index, settings) if not raised else ():
        if not _is_game(_said_around(one, value)):
            raised[id(value.site.node)] = RaisedError(value.site, one.sink.site)
    return tuple(raised.values())


def _raised(objective: Objective) -> Iterator[Applied | Delayed]:
    one, reader = objective.one, objective.reader
    allow_reading(one.run)
    # A term that is met with both signs is one of several that were not told apart.
    lowered = {id(other.value.site.node) for other in objective.contributions if other.net < 0}
    try:
        for contribution in objective.contributions:
            if id(contribution.value.site.node) in lowered:
                continue
            is_raised = contribution.net > 0 > contribution.orientation and not contribution.reshaped
            if is_raised and _is_mistaken(one, reader, contribution):
                yield contribution.value
    except (Exhausted, RecursionError):
        return


def _is_mistaken(one: Minimised, reader: Reader, contribution: Contribution) -> bool:
    if _is_game(_said(one, contribution)):
        return False
    if not all(_is_positive(one.run, weight) for weight in contribution.weights):
        return False
    if not _holds_to_data(reader, contribution) or _is_of_mean(one.run, contribution.value):
        return False
    return _leads(one.run, one.sink.value, contribution.value, DEPTH, set())


def _is_game(said: Iterator[str]) -> bool:
    """Whether something speaks of an attack, of a game of two, or of what is to be kept apart."""
    about = " ".join(said).replace("cross_entropy", "")
    return any(pattern.search(about) for pattern in (ATTACK, APART, GAMES))


def _said_around(one: Minimised, value: Applied | Delayed) -> Iterator[str]:
    """The term and the function that makes it, and what stands around the backward pass."""
    yield value.site.text[:300]
    function = getattr(getattr(value, "callee", None), "function", None)
    if function is not None:
        yield ast.unparse(function.node)
    yield from (function.spoken for function in one.sink.within)


def _said(one: Minimised, contribution: Contribution) -> Iterator[str]:
    yield contribution.value.site.text[:300]
    for passage in contribution.through:
        yield passage.call.site.text[:300]
        yield getattr(getattr(passage.call.callee, "function", None), "spoken", "")
    yield from (function.spoken for function in one.sink.within)
    lines = one.sink.site.source.text.split("\n")
    at = getattr(one.sink.site.node, "lineno", 1)
    yield "\n".join(lines[max(0, at - 12) : at])


def _is_positive(run: Execution, weight: Value) -> bool:
    """Whether a weight is a number, or a mask or a level that no data say the sign of."""
    weight = peeled(run.expand(weight) if isinstance(weight, Delayed) else weight)
    match weight:
        case Constant(value=int() | float() as number):
            return number > 0
        case Applied(callee="&" | "|" | "<" | ">" | "<=" | ">=" | "==" | "!="):
            return True
        case Applied(callee=callee):
            return callee.rpartition(".")[2] in {"ones", "ones_like", "ne", "eq", "gt", "lt", "ge", "le"}
        case Choice(options=options):
            return all(_is_positive(run, option) for option in options)
    return False


def _holds_to_data(reader: Reader, contribution: Contribution) -> bool:
    """Whether one side is a prediction and the other comes with the data."""
    value = contribution.value
    operands = reader.operands(value) if contribution.tried is not None else _arguments(value)
    if not operands or len(operands) < 2:
        return False
    learning = [reader.carries_gradient(operand) for operand in operands[:2]]
    if learning.count(True) != 1:
        return False
    other = peeled(operands[learning.index(False)])
    return not comes_from_model(reader.run, other) and (_is_of_data(other) or _counts(other))


def _is_of_mean(run: Execution, value: Value) -> bool:
    """`d.mean() ** 2`: less it, the mean of squares is a variance, which is an error as well."""
    value = run.expand(value) if isinstance(value, Delayed) else value
    if not isinstance(value, Applied) or value.callee.rpartition(".")[2] not in SIZING or not value.args:
        return False
    inner = peeled(value.args[0])
    return isinstance(inner, Applied) and inner.callee.rpartition(".")[2] in {"mean", "sum", "nanmean"}


def _arguments(value: Applied | Delayed) -> tuple[Value, ...]:
    return (*value.args, *value.keywords.values())


def _is_of_data(value: Value) -> bool:
    if isinstance(value, Applied):
        name = value.callee.rpartition(".")[2]
        if name in READING:
            return True
        is_made = name in MADE or is_drawn(value)
        return not is_made and any(_is_of_data(peeled(arg)) for arg in value.args)
    if isinstance(value, Items):
        return any(_is_of_data(peeled(item)) for item in value.items)
    if isinstance(value, Choice):
        return all(_is_of_data(peeled(option)) for option in value.options)
    return isinstance(value, Leaf | Part | Delayed)


def _counts(value: Value) -> bool:
    """Whether labels number the samples of a batch, as those do that tell which pairs belong together."""
    match peeled(value):
        case Applied(callee=callee, args=args):
            name = callee.rpartition(".")[2]
            return name == "arange" or (name in COMBINING and any(map(_counts, args)))
        case Items(items=items):
            return any(map(_counts, items))
    return False


def _leads(run: Execution, outer: Value, wanted: Value, depth: int, seen: set[int]) -> bool:
    """Whether a value is reached through sums, weights and averages alone."""
    if outer is wanted:
        return True
    if depth == 0 or id(outer) in seen or len(seen) > MOST_VISITED:
        return False
    seen.add(id(outer))
    match outer:
        case Delayed() if not is_network_pass(run.index, outer):
            return _leads(run, run.expand(outer), wanted, depth - 1, seen)
        case Delayed() | Part():
            loss = own_loss(run, outer)  # a network that computes its loss itself
            return loss is not None and _leads(run, loss, wanted, depth - 1, seen)
        case Choice(options=inner) | Items(items=inner):
            return any(_leads(run, one, wanted, depth - 1, seen) for one in inner)
        case Applied(callee="-", args=[Constant(), _]):
            return False  # a margin
        case Applied(callee=callee, args=args) if callee.rpartition(".")[2] in LINEAR | RISING:
            return any(_leads(run, one, wanted, depth - 1, seen) for one in args)
    return False
