"""What a term of a loss compares: its formula with the two sides, and what weighs them, held open.

The sides are found from the outside in: where what comes from a network first meets what does not. Steps that
both sides take alike, such as a Fourier transform, belong to the formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from stethoscope.program.likenesses import words
from stethoscope.program.objective.loss_masks import is_comparison
from stethoscope.program.objective.own_losses import is_one_number
from stethoscope.program.objective.probe import is_operand
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import comes_from_model, is_network_pass
from stethoscope.program.walk.tensor_operations import LAYERS
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Outside,
    Part,
    Value,
    inputs,
)

DEPTH = 24
MULTIPLYING = frozenset({"*", ".mul", "torch.mul"})
DIVIDING = frozenset({"/", "//", "%", "**", ".div", "torch.div", ".pow"})
SIZING = frozenset({".size", ".numel", ".nelement", ".dim", "len", "torch.numel"})
COMPARING = frozenset({
    "-", "sub", "subtract", "l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "cosine_similarity",
    "dist", "pairwise_distance",
})  # fmt: skip
MASKING = frozenset({"mask", "masks", "valid", "validity", "weights", "keep"})
SIZES = frozenset({"shape", "ndim", "dtype", "device"})


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A formula in which two open places stand for what is compared, others for masks and for weights."""

    value: Value
    sides: tuple[Value, Value]
    masks: tuple[Value, ...]
    weights: tuple[Value, ...]
    is_of_networks: bool  # what networks gave is on both sides, as with features


def compared(run: Execution, value: Value, is_number: Callable[[Value], bool]) -> list[Compared]:
    """The ways in which a term can be seen as a comparison, the outermost first."""
    found: list[Compared] = []
    for is_whole in (True, False):
        look = _Look(run, is_number, is_whole)
        formula = look.formula(value, DEPTH)
        if formula is None and look.met:
            formula = look.formula(value, DEPTH)  # a size was asked for before the sides were met
        if formula is not None and look.met:
            masks, weights = tuple(look.masks.values()), tuple(look.weights.values())
            sides = (look.left, look.right)
            found.append(Compared(formula, sides, masks, weights, look.is_of_networks))
    return found


@dataclass(slots=True)
class _Look:
    """One search. `is_whole` lets the arguments of a function of the repository be the two sides."""

    run: Execution
    is_number: Callable[[Value], bool]
    is_whole: bool
    left: Leaf = field(default_factory=lambda: Leaf("predicted"))
    right: Leaf = field(default_factory=lambda: Leaf("wanted"))
    masks: dict[int, Value] = field(default_factory=dict)
    weights: dict[int, Value] = field(default_factory=dict)
    known: dict[int, Value] = field(default_factory=dict)  # sides that were met, and what stands for them
    met: bool = False
    is_of_networks: bool = False  # on both sides of a pair
    divisors: int = 0  # that are being looked into

    def formula(self, value: Value, depth: int) -> Value | None:
        """The value with its sides open; None where it cannot be seen so."""
        if id(value) in self.known:
            return self.known[id(value)]
        if depth == 0:
            return None
        if _is_plain(value) or self.is_number(value):
            return value
        if _is_mask(value):
            return self._mask(value)
        match value:
            case Applied():
                return self._operation(value, depth)
            case Delayed() if not is_network_pass(self.run.index, value):
                return self._call(value, depth)
            case Part(base=base, key=key) if key in SIZES:
                return Part(self._sized(base, depth), key)
            case Part(base=base, key=int() as key):
                inner = self.formula(base, depth - 1)
                return Part(inner, key) if inner is not None else None
            case Items(items=items):
                held = [self.formula(item, depth - 1) for item in items]
                return Items([one for one in held if one is not None]) if all(held) else None
        return None

    def _operation(self, value: Applied, depth: int) -> Value | None:
        pair = [arg for arg in value.args if not (_is_plain(arg) or self.is_number(arg))]
        if len(pair) == 2 and len(value.args) >= 2 and self._compares(value, pair):
            sides = self._pair(pair[0], pair[1], depth)
            if sides is None:
                return None
            opened = {id(pair[0]): sides[0], id(pair[1]): sides[1]}
            return replace(value, args=tuple(opened.get(id(arg), arg) for arg in value.args))
        if value.callee in SIZING and value.args:
            return replace(value, args=(self._sized(value.args[0], depth), *value.args[1:]))
        if is_operand(self.run.index, value):
            return None
        args = [self._argument(value, arg, depth) for arg in value.args]
        keywords = {key: self.formula(arg, depth - 1) for key, arg in value.keywords.items()}
        if not all(args) or not all(keywords.values()):
            return None
        return replace(
            value,
            args=tuple(arg for arg in args if arg is not None),
            keywords={key: arg for key, arg in keywords.items() if arg is not None},
        )

    def _argument(self, call: Applied | Delayed, arg: Value, depth: int) -> Value | None:
        """An argument in the formula; what nothing is known of and only multiplies counts as a one."""
        callee = call.callee if isinstance(call, Applied) else ""
        is_factor = callee in MULTIPLYING and not self.divisors and self._only_weighs(call, arg)
        # Inside of what only weighs, and of what is divided by, nothing may be left open.
        is_closed = is_factor or (callee in DIVIDING and arg is call.args[-1])
        self.divisors += is_closed
        inner = self.formula(arg, depth - 1)
        self.divisors -= is_closed
        if inner is None and is_factor:
            return self.weights.setdefault(id(arg), Leaf("weight"))
        return inner

    def _only_weighs(self, call: Applied | Delayed, arg: Value) -> bool:
        """Whether a factor weighs places, as a noise level does; that of a whole loss may be any number."""
        if not isinstance(arg, Applied | Delayed) or comes_from_model(self.run, arg):
            return False
        return not any(is_one_number(self.run, other) for other in call.args if other is not arg)

    def _compares(self, value: Applied, pair: list[Value]) -> bool:
        """Whether an operation is where the sides meet."""
        last = value.callee.removesuffix("()").rpartition(".")[2]
        is_layer = value.maker is not None and value.maker.callee in LAYERS
        if last not in COMPARING and not (is_layer and last.endswith("Loss")):
            return False
        return not any(is_one_number(self.run, side) for side in pair)

    def _call(self, value: Delayed, depth: int) -> Value | None:
        given = [arg for arg in (*value.args, *value.keywords.values()) if not self._is_aside(arg)]
        if self.is_whole and len(given) == 2 and isinstance(value.callee, FunctionValue):
            first, second = (comes_from_model(self.run, arg) for arg in given)
            if first or second:
                return self._opened_call(value, (given[0], given[1]), depth)
        return self.formula(self.run.expand(value), depth - 1)

    def _opened_call(self, value: Delayed, given: tuple[Value, Value], depth: int) -> Value | None:
        sides = self._pair(given[0], given[1], depth)
        if sides is None:
            return None
        opened: dict[int, Value] = {id(given[0]): sides[0], id(given[1]): sides[1]}

        def held_open(arg: Value) -> Value:
            return opened.get(id(arg)) or (self._mask(arg) if _is_mask(arg) else arg)

        return Delayed(
            value.callee,
            tuple(map(held_open, value.args)),
            {key: held_open(arg) for key, arg in value.keywords.items()},
            value.site,
        )

    def _is_aside(self, value: Value) -> bool:
        """Whether an argument is none of the sides: a number, a mask, an object."""
        return _is_plain(value) or _is_mask(value) or self.is_number(value) or isinstance(value, Instance)

    def _pair(self, left: Value, right: Value, depth: int) -> tuple[Value, Value] | None:
        """Both sides opened below the steps that they take alike."""
        if id(left) in self.known and id(right) in self.known:
            return self.known[id(left)], self.known[id(right)]
        if depth == 0:
            return None
        alike = _alike(self.run, left, right)
        if alike is not None:
            return self._steps(alike[0], alike[1], depth)
        if _is_transformed(self.run, left) or _is_transformed(self.run, right):
            return None  # the spectrum of one side alone
        # Further pairs of the same term, as in a sum over several places, are alike in size.
        self.met = True
        self.is_of_networks |= comes_from_model(self.run, left) and comes_from_model(self.run, right)
        self.known.update({id(left): self.left, id(right): self.right})
        return self.left, self.right

    def _steps(
        self, left: Applied | Delayed, right: Applied | Delayed, depth: int
    ) -> tuple[Value, Value] | None:
        """Two calls of the same thing, whose first arguments that differ are gone into."""
        pairs = list(zip(left.args, right.args, strict=True))
        differing = [at for at, (one, other) in enumerate(pairs) if not _is_same(one, other)]
        if len(differing) != 1:
            return None
        at = differing[0]
        inner = self._pair(*pairs[at], depth - 1)
        if inner is None:
            return None
        args = [self._argument(left, arg, depth) for arg in left.args[:at] + left.args[at + 1 :]]
        if not all(args):
            return None
        before, after = args[:at], args[at:]
        opened = [tuple(one for one in (*before, side, *after) if one is not None) for side in inner]
        return replace(left, args=opened[0]), replace(right, args=opened[1])

    def _sized(self, value: Value, depth: int) -> Value:
        """What has the size of a value: itself where it is in the formula, else a side."""
        return self.formula(value, depth - 1) or self.left

    def _mask(self, value: Value) -> Value:
        return self.masks.setdefault(id(value), Leaf("mask"))


def _alike(run: Execution, left: Value, right: Value) -> tuple[Applied | Delayed, Applied | Delayed] | None:
    """The two sides as calls of the same thing with the same options, one argument being another."""
    if is_network_pass(run.index, left) or is_network_pass(run.index, right):
        return None
    match left, right:
        case (Applied(), Applied()):
            is_same = left.callee == right.callee and left.callee != "()" and left.maker is right.maker
            pair: tuple[Applied | Delayed, Applied | Delayed] = (left, right)
        case (Delayed(callee=FunctionValue() as one), Delayed(callee=FunctionValue() as other)):
            is_same = one.function is other.function and one.bound is other.bound
            pair = (left, right)
        case (Delayed(callee=LambdaValue() as one), Delayed(callee=LambdaValue() as other)):
            is_same, pair = one.node is other.node, (left, right)
        case _:
            return None
    if (
        not is_same
        or len(pair[0].args) != len(pair[1].args)
        or pair[0].keywords.keys() != pair[1].keywords.keys()
    ):
        return None
    if not all(_is_same(option, pair[1].keywords[key]) for key, option in pair[0].keywords.items()):
        return None
    differing = [one for one in zip(pair[0].args, pair[1].args, strict=True) if not _is_same(*one)]
    return pair if len(differing) == 1 else None


def _is_same(left: Value, right: Value) -> bool:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return type(left.value) is type(right.value) and bool(left.value == right.value)
    if isinstance(left, Items) and isinstance(right, Items) and len(left.items) == len(right.items):
        return all(map(_is_same, left.items, right.items))
    if isinstance(left, Outside) and isinstance(right, Outside):
        return left.name == right.name
    return left is right


def _is_plain(value: Value) -> bool:
    if isinstance(value, Items):
        return all(map(_is_plain, value.items))
    return isinstance(value, Constant | Outside | FunctionValue)


def _is_mask(value: Value) -> bool:
    """Whether a value says which places count: by its name, by what makes it, or as a comparison."""
    match value:
        case Part(key=str() as name) | Leaf(name=name):
            pass
        case Delayed(callee=FunctionValue(function=function)):
            name = function.name
        case Applied(
            callee="[]" | ".float" | ".unsqueeze" | ".expand_as" | ".to" | ".bool", args=[inner, *_]
        ):
            return _is_mask(inner)
        case Applied(callee=callee):
            if is_comparison(value):
                return True
            name = callee.rpartition(".")[2]
        case _:
            return False
    return bool(MASKING.intersection(words(name))) and "fill" not in name


def is_transform(value: Applied) -> bool:
    """Whether a call is a Fourier transform."""
    return ".fft." in f".{value.callee}" or value.callee.rpartition(".")[2] == "stft"


def _is_transformed(run: Execution, value: Value) -> bool:
    """Whether there is a Fourier transform in a value, networks not entered."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VISITED:
        current = waiting.pop()
        if id(current) in seen or is_network_pass(run.index, current):
            continue
        seen.add(id(current))
        if isinstance(current, Applied) and is_transform(current):
            return True
        if isinstance(current, Delayed):
            waiting.append(run.expand(current))
        waiting.extend(inputs(current))
    return False


MOST_VISITED = 200
