"""Is more of it better? Taking a minimised value apart into likenesses and distances, with their signs.

A sum is taken apart; products with numbers, settings and detached values are weights; `1 - x`, `-x` and
`1 / x` turn the sign. What is left is a library function with a known meaning, or algebra: that is tried on
numbers (`probe`), so the names in it do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from stethoscope.program.data.ingredients import is_drawn, peeled
from stethoscope.program.likenesses import DIVERGENCE, LIKELIHOOD, likeness_named, outside_orientation
from stethoscope.program.objective.distributions import is_distribution
from stethoscope.program.objective.divergences import is_negative_divergence
from stethoscope.program.objective.own_losses import own_loss
from stethoscope.program.objective.probe import Probe, is_operand, operands_of, probe
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import comes_from_model, detaches, is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Part,
    Table,
    Value,
)

DEPTH = 60
MOST_TRIALS = 60  # values of one objective that are tried on numbers
MOST_TURNS = 6  # means, weights and sums around the place where a likeness becomes a loss
LARGEST_BOUNDED = 1.5  # likenesses end at 1; a ratio in decibels goes far beyond

# Calls that keep the order of values: more stays more. Names without module; the value is the first argument.
# fmt: off
KEEPING = frozenset({
    "mean", "sum", "nanmean", "log", "log10", "log2", "log1p", "exp", "sqrt", "clamp", "clip",
    "clamp_min", "clamp_max", "relu", "sigmoid", "tanh", "view", "reshape", "squeeze", "unsqueeze",
    "flatten", "float", "double", "half", "to", "cuda", "cpu", "type_as", "contiguous", "clone",
    "stack", "cat", "concat", "max", "min", "amax", "amin", "nan_to_num", "permute", "transpose",
    "expand", "abs_", "pos", "item_", "logsigmoid", "softplus", "type", "div_", "mul_", "all_reduce",
    "gather", "reduce", "masked_select", "nansum", "median", "quantile",
})
# fmt: on
TURNING = frozenset({"neg", "negative", "reciprocal", "rsqrt"})
EVEN = frozenset({"abs", "square"})
# What is true or false lets no gradient through: it picks, and is never what is minimised itself.
PICKING = frozenset({
    "<", ">", "<=", ">=", "==", "!=", "lt", "gt", "le", "ge", "eq", "ne", "isclose", "logical_and",
    "logical_or", "logical_not", "&", "|", "isnan", "isfinite", "bool",
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A call that a contribution passes on its way out, with the sign and weights it has inside."""

    call: Delayed
    sign: int
    weights: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """A likeness or distance inside a minimised value.

    `orientation` is its own (+1 likeness, -1 distance), `sign` that of the way to the sink; `through` are
    the calls of repository functions it passes, the one nearest the sink first; `weights` multiply it.
    """

    value: Applied | Delayed
    orientation: int
    kind: str
    sign: int = 1
    weights: tuple[Value, ...] = ()
    through: tuple[Passage, ...] = ()
    tried: Probe | None = None
    reshaped: bool = False  # passed a logarithm or a reciprocal: PSNR is a reshaped distance
    chosen: bool = True  # false for one of several losses of which the settings may choose another

    @property
    def net(self) -> int:
        """+1 where minimising lowers a likeness (or raises a distance)."""
        return self.orientation * self.sign


@dataclass(slots=True)
class Reader:
    """Takes values apart; remembers what it tried."""

    run: Execution
    _found: dict[int, list[Contribution]] = field(default_factory=dict)
    _tried: dict[int, Probe | None] = field(default_factory=dict)
    _operands: dict[int, tuple[Value, Value] | None] = field(default_factory=dict)
    _kept: list[Value] = field(default_factory=list)
    _inside: list[Delayed] = field(default_factory=list)
    _trials_left: int = MOST_TRIALS

    def objective(self, value: Value) -> list[Contribution]:
        """The same of a minimised value, which a network may compute in its own forward pass."""
        found = self.contributions(value)
        if found or not isinstance(value, Delayed) or len(value.args) + len(value.keywords) < 2:
            return found
        return self.contributions(self.run.expand(value))

    def contributions(self, value: Value, depth: int = DEPTH) -> list[Contribution]:
        """The likenesses and distances that a value is made of."""
        if depth <= 0:
            return []
        if id(value) not in self._found:
            self._kept.append(value)
            self._found[id(value)] = []  # while it is being taken apart
            self._found[id(value)] = self._contributions(value, depth)
        return self._found[id(value)]

    def _contributions(self, value: Value, depth: int) -> list[Contribution]:
        match value:
            case Choice(options=options):
                return self._of_choice(options, depth)
            case Items(items=items):
                return [found for item in items for found in self.contributions(item, depth - 1)]
            case Table(entries=entries, rest=rest):
                inner = [*entries.values(), *rest]
                return [found for item in inner for found in self.contributions(item, depth - 1)]
            case Delayed():
                return self._of_call(value, depth)
            case Applied():
                return self._of_application(value, depth)
            case Part():
                loss = own_loss(self.run, value)
                return self.contributions(loss, depth - 1) if loss is not None else []
        return []

    def _of_choice(self, options: Sequence[Value], depth: int) -> list[Contribution]:
        found = [self.contributions(option, depth - 1) for option in options]
        callees = {_callee(option) for option in options}
        if None not in callees and len(callees) > 1:
            # Different losses to choose from, as from a registry: which one runs is not known.
            return [replace(one, chosen=False) for each in found for one in each]
        return _joined(found)

    def carries_gradient(self, value: Value) -> bool:
        """Whether a network's output reaches the value without being detached."""
        return comes_from_model(self.run, value, detached_counts=False)

    def trial(self, value: Value) -> Probe | None:
        """The value tried on numbers, where it compares two things."""
        if id(value) not in self._tried:
            self._kept.append(value)
            self._tried[id(value)] = self._tried_on_numbers(value)
        return self._tried[id(value)]

    def _tried_on_numbers(self, value: Value) -> Probe | None:
        for operands in self._pairs(value):
            if self._trials_left <= 0:
                return None
            self._trials_left -= 1
            found = probe(self.run.index, value, operands)
            if found is not None:
                self._operands[id(value)] = operands
                return found
        return None

    def operands(self, value: Value) -> tuple[Value, Value] | None:
        """The two things that a value compares, where there are just two; the prediction first."""
        if id(value) not in self._operands:
            self._kept.append(value)
            self._operands[id(value)] = next(self._pairs(value), None)
        return self._operands[id(value)]

    def _pairs(self, value: Value) -> Iterator[tuple[Value, Value]]:
        """Pairs that a value may be computed from.

        What the data were made from comes first, then the arguments of the calls around the value, the
        outermost call first: a batch that a function stacks from files is computed from no two things.
        """
        given: frozenset[int] = frozenset()
        seen: set[tuple[int, int]] = set()
        for call in [None, *self._inside, *([value] if isinstance(value, Delayed) else [])]:
            if call is not None:
                arguments = (*call.args, *call.keywords.values())
                given |= {id(a) for a in arguments if not isinstance(a, Constant | Instance)}
            found = operands_of(self.run.index, value, given)
            if len(found) != 2 or (id(found[0]), id(found[1])) in seen:
                continue
            first, second = found
            seen.add((id(first), id(second)))
            is_swapped = self.carries_gradient(second) and not self.carries_gradient(first)
            yield (second, first) if is_swapped else (first, second)

    def _of_call(self, call: Delayed, depth: int) -> list[Contribution]:
        is_network = is_network_pass(self.run.index, call) and not _is_loss(call)
        if is_network and own_loss(self.run, call) is None:
            return []
        self._inside.append(call)
        try:
            inner = self.contributions(self.run.expand(call), depth - 1)
        finally:
            self._inside.pop()
        if not inner or all(one.net > 0 > one.orientation for one in inner):
            # Nothing that could be taken apart, or a distance turned into a likeness, such as exp(-d).
            whole = self._whole(call, spoken_name(call))
            inner = whole or inner
        return [replace(one, through=(Passage(call, one.sign, one.weights), *one.through)) for one in inner]

    def _of_application(self, value: Applied, depth: int) -> list[Contribution]:
        callee, args = value.callee, value.args
        match callee:
            case "+":
                return [one for arg in args for one in self.contributions(arg, depth - 1)]
            case "-":
                return self._difference(value, args[0], args[1], depth)
            case "neg":
                return _turned(self.contributions(args[0], depth - 1))
            case "*" | "@":
                return self._product(value, depth)
            case "/":
                return self._quotient(value, args[0], args[1], depth)
            case "**":
                return self._power(value, args[0], args[1], depth)
            case "[]" | "[]=":
                return self.contributions(args[0], depth - 1)
            case "()":
                return []
        return self._of_function(value, depth)

    def _of_function(self, value: Applied, depth: int) -> list[Contribution]:
        last, args = _last(value.callee), value.args
        if detaches(value) or not args or last in PICKING:
            return []
        if last == "where":
            return self._picked(value, depth)
        orientation, kind = outside_orientation(value.callee) if value.callee[0] != "." else (0, "")
        if orientation:
            return [Contribution(value, orientation, kind)]
        if (
            last in {"add", "sub", "mul", "div", "sum"}
            and len(args) > 1
            and not isinstance(args[1], Constant)
        ):
            symbol = {"add": "+", "sub": "-", "mul": "*", "div": "/"}.get(last)
            if symbol is not None:
                return self._of_application(Applied(symbol, args[:2], {}, value.site), depth)
        if last == "rsub" and len(args) > 1:
            return self._difference(value, args[1], args[0], depth)
        if _is_soft_maximum(value):
            return []  # over what is wanted and what is not, together
        if self._is_likelihood(value):
            return [Contribution(value, 1, LIKELIHOOD)]
        if last in KEEPING:
            inner = self.contributions(args[0], depth - 1)
            return [replace(one, reshaped=one.reshaped or last.startswith("log")) for one in inner]
        if last in TURNING:
            return [replace(one, reshaped=True) for one in _turned(self.contributions(args[0], depth - 1))]
        if last in EVEN:
            return self._even(value, args[0], depth)
        if last in {"pow", "float_power"} and len(args) > 1:
            return self._power(value, args[0], args[1], depth)
        return self._whole(value, "")

    def _picked(self, value: Applied, depth: int) -> list[Contribution]:
        """`torch.where(condition, a, b)`: as a whole where that can be tried, else one of the two."""
        if self.trial(value) is not None:
            return self._whole(value, "")
        first, *others = value.args
        branches = [first, *others[1:]] if value.callee[0] == "." else others
        return _joined([self.contributions(one, depth - 1) for one in branches])

    def _is_likelihood(self, value: Applied) -> bool:
        """`normal.log_prob(x)` of data, and `log_probs.gather(1, labels)`."""
        last, args = _last(value.callee), value.args
        if last == "log_prob":
            scored = args[1] if len(args) > 1 else next(iter(value.keywords.values()), None)
            return scored is not None and not self.carries_gradient(scored) and not is_drawn(peeled(scored))
        if last in {"gather", "diagonal", "diag", "take_along_dim"}:
            inner = peeled(args[0])
            return isinstance(inner, Applied) and _last(inner.callee) == "log_softmax"
        return False

    def _difference(self, value: Applied, left: Value, right: Value, depth: int) -> list[Contribution]:
        if is_operand(self.run.index, left) or is_operand(self.run.index, right):
            whole = self._whole(value, "")
            if whole:
                return whole
        found = self.contributions(left, depth - 1) + _turned(self.contributions(right, depth - 1))
        if not found and is_negative_divergence(self.run.index, value):
            return [Contribution(value, 1, DIVERGENCE)]
        return found

    def _product(self, value: Applied, depth: int) -> list[Contribution]:
        tensors: list[Value] = []
        weights: list[Value] = []
        for factor in _factors(value):
            (tensors if self._is_tensor(factor) else weights).append(factor)
        if len(tensors) == 1 and self._scores_a_distribution(tensors[0], weights):
            turn = -1 if any(isinstance(one, Applied) and one.callee == "neg" for one in weights) else 1
            return [Contribution(value, 1, LIKELIHOOD, sign=turn)]
        if len(tensors) == 1:
            inner = self.contributions(tensors[0], depth - 1)
            if inner:
                turn, sizes = _without_sign(weights)
                return [replace(one, sign=one.sign * turn, weights=(*sizes, *one.weights)) for one in inner]
        if any(is_operand(self.run.index, factor) for factor in (*tensors, *weights)):
            return []  # a bare factor is a weight or an unknown, not one half of a comparison
        whole = self._whole(value, "")
        if whole or not tensors:
            return whole
        each = [self.contributions(tensor, depth - 1) for tensor in tensors]
        if all(len(found) == 1 and found[0].net > 0 for found in each):
            return [replace(each[0][0], weights=tuple(weights))]
        return []

    def _scores_a_distribution(self, scores: Value, weights: Sequence[Value]) -> bool:
        """Whether log-probabilities are weighed by what is wanted: `one_hot(y) * log_softmax(x)`."""
        inner = peeled(scores)
        if not (isinstance(inner, Applied) and _last(inner.callee) == "log_softmax"):
            return False
        return len(weights) == 1 and is_distribution(self.run, weights[0])

    def _is_tensor(self, factor: Value) -> bool:
        return self.carries_gradient(factor) or bool(self.contributions(factor))

    def _quotient(self, value: Applied, top: Value, bottom: Value, depth: int) -> list[Contribution]:
        if not self._is_tensor(bottom):
            return self.contributions(top, depth - 1)
        if not self._is_tensor(top):
            turned = _turned(self.contributions(bottom, depth - 1))
            return [replace(one, reshaped=True) for one in turned]
        return self._whole(value, "")

    def _power(self, value: Applied, base: Value, exponent: Value, depth: int) -> list[Contribution]:
        if isinstance(exponent, Constant) and isinstance(exponent.value, int | float):
            if exponent.value < 0:
                turned = _turned(self.contributions(base, depth - 1))
                return [replace(one, reshaped=True) for one in turned]
            if exponent.value % 2 == 0:
                return self._even(value, base, depth)
        return self.contributions(base, depth - 1)

    def _even(self, value: Applied, base: Value, depth: int) -> list[Contribution]:
        """A square or an absolute value: of (x - 1) it is a distance however x is oriented."""
        whole = self._whole(value, "")
        is_from = _is_from_fixed(base) or self._holds_one_to_another(base)
        if any(one.orientation > 0 for one in whole) and is_from:
            return [Contribution(value, -1, "")]
        if whole:
            return whole
        inner = self.contributions(base, depth - 1)
        is_difference = isinstance(base, Applied) and base.callee in {"-", "+", ".sub", ".add"}
        return [one for one in inner if one.net < 0 or not is_difference]

    def _holds_one_to_another(self, base: Value) -> bool:
        """`a - log(b)`: each side is made of other things, so they agree on another scale than a and b do."""
        base = peeled(base)
        if not isinstance(base, Applied) or base.callee not in {"-", ".sub"} or len(base.args) < 2:
            return False
        sides = map(peeled, base.args[:2])  # what picks the elements is not compared
        left, right = ({id(one) for one in operands_of(self.run.index, side)} for side in sides)
        return bool(left and right) and not left & right

    def _whole(self, value: Applied | Delayed, name: str) -> list[Contribution]:
        """The value as one likeness or distance: tried on numbers, else by its name."""
        tried = self.trial(value)
        if tried is not None:
            if tried.orientation == 0 or (tried.orientation > 0 >= tried.alike):
                return []  # neither, or a negated distance, which people write on purpose
            if tried.orientation > 0 and tried.is_even and self._is_of_outputs(value):
                return []  # how much outputs tell of each other, whatever the sign: to be made independent
            kind = "" if tried.orientation < 0 else likeness_named(name) or _kind(tried)
            return [Contribution(value, tried.orientation, kind, tried=tried)]
        kind = likeness_named(name) if isinstance(value, Delayed) and not self._is_sum(value) else ""
        if not kind or _is_turned(self.run.force(value)):
            return []
        return [Contribution(value, 1, kind)]

    def _is_of_outputs(self, value: Value) -> bool:
        """Whether both of what is compared is learned."""
        return all(map(self.carries_gradient, self.operands(value) or (value,)))

    def _is_sum(self, value: Delayed) -> bool:
        """Whether a call gives a sum of terms, of which its name tells at most one."""
        made = self.run.force(value)
        return isinstance(made, Applied) and made.callee in {"+", "sum", ".add"}


def _is_turned(made: Value, depth: int = MOST_TURNS) -> bool:
    """Whether a value is `1 - x` or `-x` of something: then its name says nothing of the sign."""
    match made:
        case Applied(callee="neg" | ".neg" | "torch.neg" | ".negative" | ".rsub"):
            return True
        case Applied(callee="-" | "torch.sub", args=[Constant(), _]):
            return True
        case Applied(args=inner) | Choice(options=inner) | Items(items=inner):
            return depth > 0 and any(_is_turned(one, depth - 1) for one in inner)
    return False


def _is_from_fixed(base: Value) -> bool:
    """`c - torch.eye(n)`: how far something is from what is written down."""
    if not (isinstance(base, Applied) and base.callee in {"-", ".sub"} and len(base.args) > 1):
        return False
    sides = map(peeled, base.args[:2])
    return any(isinstance(side, Applied) and _last(side.callee) in {"eye", "ones", "full"} for side in sides)


def _is_soft_maximum(value: Applied) -> bool:
    """`logsumexp(x)` and `log(exp(x).sum(1) + eps)`."""
    last = _last(value.callee)
    if last == "logsumexp":
        return True
    inner = value.args[0]
    if isinstance(inner, Applied) and inner.callee == "+" and isinstance(inner.args[-1], Constant):
        inner = inner.args[0]
    is_sum = isinstance(inner, Applied) and _last(inner.callee) == "sum" and bool(inner.args)
    if last != "log" or not is_sum or not isinstance(inner, Applied):
        return False
    return any(isinstance(one, Applied) and _last(one.callee) == "exp" for one in _factors(inner.args[0]))


def spoken_name(call: Delayed) -> str:
    """The name that says what a call does: the class for a module's forward, else the function."""
    if not isinstance(call.callee, FunctionValue):
        return "lambda"
    function = call.callee.function
    if function.owner is not None and function.name in {"forward", "__call__"}:
        bound = call.callee.bound
        return bound.cls.name if isinstance(bound, Instance) else function.owner.name
    return function.name


def _callee(value: Value) -> object:
    if not isinstance(value, Delayed):
        return None
    return value.callee.function if isinstance(value.callee, FunctionValue) else value.callee


def _is_loss(call: Delayed) -> bool:
    name = spoken_name(call).lower()
    return "loss" in name or "criterion" in name or "objective" in name


def _kind(tried: Probe) -> str:
    if tried.alike > LARGEST_BOUNDED:
        return "SNR" if tried.angular else "PSNR"
    return "cosine similarity" if tried.angular else "similarity measure"


def _turned(found: Iterable[Contribution]) -> list[Contribution]:
    return [replace(one, sign=-one.sign) for one in found]


def _joined(options: list[list[Contribution]]) -> list[Contribution]:
    """Alternatives: all of them, but not a likeness that another alternative has the other way round."""
    turned = any(one.net < 0 < one.orientation for found in options for one in found)
    kept = [one for found in options for one in found if not (turned and one.net > 0 and one.orientation > 0)]
    unique: dict[tuple[int, int], Contribution] = {}
    for one in kept:
        unique.setdefault((id(one.value), one.net), one)
    return list(unique.values())


def _without_sign(weights: Sequence[Value]) -> tuple[int, list[Value]]:
    """The sign of the known weights, and the weights without it."""
    turn, sizes = 1, list[Value]()
    for weight in weights:
        known = weight.value if isinstance(weight, Constant) else None
        if isinstance(known, int | float) and known < 0:
            turn, weight = -turn, Constant(-known)
        sizes.append(weight)
    return turn, sizes


def _factors(value: Value) -> Iterator[Value]:
    if isinstance(value, Applied) and value.callee == "*":
        for arg in value.args:
            yield from _factors(arg)
    else:
        yield value


def _last(callee: str) -> str:
    return callee.rpartition(".")[2]
