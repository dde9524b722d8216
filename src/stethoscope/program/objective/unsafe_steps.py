"""Steps of a loss that leave the finite numbers for data or outputs that a training is sure to meet."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.data.ingredients import LAYOUT, has, ingredients, is_drawn
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.objective.loss_masks import is_comparison
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.chained_layers import layers_of
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Items, Leaf, Part, Site, Value

DEPTH = 16
LOGARITHMS = frozenset({"log", "log2", "log10"})
ROOTS = frozenset({"sqrt", "rsqrt"})
TURNS = frozenset({"flip", "rot90", "roll", "fliplr", "flipud", "t", "pin_memory"}) | LAYOUT
UNBOUNDED_LAYERS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose")
RECTIFIERS = frozenset({"relu", "relu_"})
SQUARES = frozenset({"square", "pow", "**"})
MASK_WORDS = frozenset({"mask", "masks", "masked", "valid", "keep", "real", "padding"})
BYTES = (255, 255.0)
POWERS = frozenset({"pow", "**", "float_power"})
ANGLES = frozenset({"acos", "arccos", "asin", "arcsin", "atanh", "arctanh"})
# What keeps a value inside an interval, or picks those that are.
BOUNDING = frozenset({
    "clamp", "clip", "clamp_", "clip_", "tanh", "sigmoid", "where", "minimum", "maximum", "min", "max",
    "hardtanh", "softsign", "clamp_min", "clamp_max", "softmax", "nan_to_num", "sin", "cos",
})  # fmt: skip
CLAMPS = frozenset({"clamp", "clip", "clamp_", "clamp_min", "clamp_min_", "relu"})
PRODUCTS = frozenset({"@", "matmul", "mm", "bmm"})
SHORT_OF_ONE = 0.9  # a factor from here to one keeps a cosine off its ends


class Unsafe(StrEnum):
    """What is not finite, and for what."""

    OUTPUT = "of a network's output that nothing keeps above zero"
    RECTIFIED = "of a network's output that a rectifier makes zero wherever it would be below"
    PICTURE = "of pictures between 0 and 1, in which black is zero"
    DIVISION = "a division by pictures between 0 and 1, in which black is zero"
    MASKED_ROOT = "the root of a square that a mask makes zero, where its gradient is infinite"
    VARIANCE = "the root of a variance taken as a difference, which is zero or below where a picture is flat"
    POWER = "a broken power of a network's output that nothing keeps above zero"
    ANGLE = "the angle of a cosine that rounding takes past one, and whose gradient is infinite at one"
    SELF_DISTANCE = "the root of the distances of samples to themselves, where its gradient is infinite"
    NOTHING_DRAWN = "a division by how many were drawn, which is zero for a sample with none"


@dataclass(frozen=True, slots=True, eq=False)
class UnsafeStep:
    """A step of a loss, why it is unsafe, and the backward pass behind it."""

    site: Site
    sink: Site
    why: Unsafe


@remembered
def unsafe_steps(index: Index, settings: SettingsTree) -> tuple[UnsafeStep, ...]:
    """The unsafe steps in everything that is minimised."""
    found: dict[int, UnsafeStep] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for value in applied_in(one.run, one.sink.value):
                why = _why(one.run, value)
                if why is not None:
                    found.setdefault(id(value.site.node), UnsafeStep(value.site, one.sink.site, why))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _why(run: Execution, value: Applied) -> Unsafe | None:
    name = _name(value)
    if name in LOGARITHMS and value.args:
        return _of_logarithm(run, value.args[0])
    if name in ROOTS and value.args:
        return _of_root(run, value.args[0])
    if name in ANGLES and value.args:
        return Unsafe.ANGLE if _is_unguarded_cosine(run, value.args[0]) else None
    if name in POWERS and len(value.args) > 1 and _is_broken(value.args[1]):
        return Unsafe.POWER if _is_unbounded(run, value.args[0], DEPTH) else None
    if value.callee == "/" or name == "div":
        return _of_quotient(run, *value.args[:2]) if len(value.args) > 1 else None
    return None


def _of_logarithm(run: Execution, inner: Value) -> Unsafe | None:
    if _is_unbounded(run, inner, DEPTH):
        return Unsafe.OUTPUT
    if _is_rectified(run, inner, DEPTH):
        return Unsafe.RECTIFIED
    return Unsafe.PICTURE if _is_picture(run, inner, DEPTH) else None


def _of_root(run: Execution, inner: Value) -> Unsafe | None:
    if _is_unbounded(run, inner, DEPTH):
        return Unsafe.OUTPUT
    inner = _forced(run, inner)
    if _is_distance_to_itself(run, inner):
        return Unsafe.SELF_DISTANCE
    match inner:
        case Applied(args=[squared, *_]) if _is_square(inner) and _is_masked(run, squared):
            return Unsafe.MASKED_ROOT
        case Applied(callee="-", args=[left, right]) if _is_variance(run, left, right):
            return Unsafe.VARIANCE
    return None


def _of_quotient(run: Execution, top: Value, bottom: Value) -> Unsafe | None:
    if _is_picture(run, bottom, DEPTH):
        return Unsafe.DIVISION if comes_from_model(run, top) else None
    return Unsafe.NOTHING_DRAWN if _is_count_of_drawn(run, bottom) else None


# What is unsafe


def _is_unbounded(run: Execution, value: Value, depth: int) -> bool:
    """Whether a value is what a linear layer gave, as it is: it may be below zero."""
    if depth == 0 or not comes_from_model(run, value):
        return False
    match value:
        case Delayed():
            return _is_unbounded(run, run.expand(value), depth - 1)
        case Choice(options=options):
            return all(_is_unbounded(run, option, depth - 1) for option in options)
        case Part(base=Delayed() as base, key=int() as key):
            given = _item(run.expand(base), key)
            return given is not None and _is_unbounded(run, given, depth - 1)
        case Applied(callee="+", args=[left, right]):
            sides = (left, right)
            return not any(isinstance(side, Constant) for side in sides) and any(
                _is_unbounded(run, side, depth - 1) for side in sides
            )
        case Applied() if _name(value) in LAYOUT and value.args:
            return _is_unbounded(run, value.args[0], depth - 1)
        case Applied(callee=callee, maker=maker) if callee.endswith("()") and maker is not None:
            layers = layers_of(run, maker)
            last = run.force(layers[-1]) if layers else maker
            return isinstance(last, Applied) and _name(last).startswith(UNBOUNDED_LAYERS)
    return False


def _is_rectified(run: Execution, value: Value, depth: int) -> bool:
    """Whether a value is what a rectifier gave, as it is: zero for about half of the outputs at first."""
    if depth == 0 or not comes_from_model(run, value):
        return False
    match value:
        case Delayed():
            return _is_rectified(run, run.expand(value), depth - 1)
        case Choice(options=options):
            return all(_is_rectified(run, option, depth - 1) for option in options)
        case Part(base=Delayed() as base, key=int() as key):
            given = _item(run.expand(base), key)
            return given is not None and _is_rectified(run, given, depth - 1)
        case Applied(callee="[]", args=[base, *keys]):
            # What is picked by a condition on the output itself may well be above zero.
            is_chosen = any(comes_from_model(run, key) for key in keys)
            return not is_chosen and _is_rectified(run, base, depth - 1)
        case Applied() if _name(value) in RECTIFIERS:
            return True
        case Applied() if _name(value) in LAYOUT and value.args:
            return _is_rectified(run, value.args[0], depth - 1)
        case Applied(callee=callee, maker=maker) if callee.endswith("()") and maker is not None:
            layers = layers_of(run, maker)
            last = run.force(layers[-1]) if layers else maker
            return isinstance(last, Applied) and _name(last) == "ReLU"
    return False


def _is_picture(run: Execution, value: Value, depth: int) -> bool:
    """Whether a value is data that was divided by 255, as it is."""
    if depth == 0 or comes_from_model(run, value):
        return False
    match value:
        case Applied(callee="/", args=[_, Constant(value=divisor)]):
            return divisor in BYTES
        case Applied(callee="[]", args=[base, *_]):
            return _is_picture(run, base, depth - 1)
        case Applied() if _name(value) in TURNS and value.args:
            return _is_picture(run, value.args[0], depth - 1)
        case Choice(options=options):
            return all(_is_picture(run, option, depth - 1) for option in options)
        case Delayed():
            return _is_picture(run, run.expand(value), depth - 1)
        case Part(base=base, key=int() as key):
            given = _item(_forced(run, base), key)
            return given is not None and _is_picture(run, given, depth - 1)
    return False


def _is_broken(exponent: Value) -> bool:
    """Whether a power is no whole number: 0.5, 2.2."""
    number = exponent.value if isinstance(exponent, Constant) else None
    return isinstance(number, float) and not number.is_integer()


def _is_unguarded_cosine(run: Execution, value: Value) -> bool:
    """Whether nothing on the way from the network to an angle keeps its cosine inside of one."""
    if not comes_from_model(run, value):
        return False
    for one in applied_in(run, value):
        if _name(one) in BOUNDING or (one.callee == "*" and any(map(_is_short_of_one, one.args))):
            return False
    return True


def _is_short_of_one(value: Value) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, float) and SHORT_OF_ONE < number < 1


def _is_distance_to_itself(run: Execution, value: Value) -> bool:
    """`(a[:, None] - a[None]) ** 2` summed, or the table `|a|^2 + |a|^2 - 2 a a^T` cut at zero."""
    if not isinstance(value, Applied) or not value.args:
        return False
    if _name(value) in CLAMPS:
        floors = [*value.args[1:], *(value.keywords[key] for key in ("min",) if key in value.keywords)]
        is_at_zero = not floors or (isinstance(floors[0], Constant) and floors[0].value in (0, 0.0))
        inner = _forced(run, value.args[0])
        return is_at_zero and isinstance(inner, Applied) and inner.callee in {"-", "+"} and _pairs(run, inner)
    if _name(value) == "sum":
        squared = _forced(run, value.args[0])
        if isinstance(squared, Applied) and _is_square(squared):
            apart = _forced(run, squared.args[0])
            return isinstance(apart, Applied) and apart.callee == "-" and _is_same_twice(run, apart)
    return False


def _pairs(run: Execution, value: Value) -> bool:
    """Whether the products of all samples of one batch with each other are in a value."""
    return any(
        _name(one) in PRODUCTS and len(one.args) > 1 and _is_same_twice(run, one)
        for one in applied_in(run, value)
    )


def _is_same_twice(run: Execution, value: Applied) -> bool:
    """Whether both sides are one batch of the network's outputs, laid out differently."""
    left, right = (_laid_out(run, arg) for arg in value.args[:2])
    return left is right and comes_from_model(run, left)


def _laid_out(run: Execution, value: Value) -> Value:
    while True:
        value = _forced(run, value)
        if isinstance(value, Applied) and _name(value) in TURNS | {"[]", "*"} and value.args:
            if value.callee == "*":
                factors = [arg for arg in value.args if not isinstance(arg, Constant)]
                if len(factors) != 1:
                    return value
                value = factors[0]
            else:
                value = value.args[0]
        elif isinstance(value, Part) and value.key in {"T", "mT", "H"}:
            value = value.base
        else:
            return value


def _item(value: Value, key: int) -> Value | None:
    items = value.items if isinstance(value, Items) else []
    return items[key] if -len(items) <= key < len(items) else None


def _is_square(value: Applied) -> bool:
    if _name(value) == "square":
        return True
    exponent = value.args[1] if len(value.args) > 1 else None
    return _name(value) in SQUARES and isinstance(exponent, Constant) and exponent.value in (2, 2.0)


def _is_masked(run: Execution, value: Value) -> bool:
    """`error * mask`."""
    value = _forced(run, value)
    if not isinstance(value, Applied) or value.callee != "*" or not comes_from_model(run, value):
        return False
    data = [position for position, arg in enumerate(value.args) if not comes_from_model(run, arg)]
    return any(_is_mask(value.args[position]) or _is_called_mask(value.site, position) for position in data)


def _is_called_mask(site: Site, position: int) -> bool:
    """Whether one side of a product is a name that people give to masks."""
    node = site.node
    if not isinstance(node, ast.BinOp):
        return False
    side = (node.left, node.right)[position]
    names = (getattr(one, "id", "") or getattr(one, "attr", "") for one in all_nodes(side))
    return any(MASK_WORDS.intersection(words(name)) for name in names)


def _is_mask(value: Value) -> bool:
    while isinstance(value, Applied) and _name(value) in LAYOUT | {"[]"} and value.args:
        value = value.args[0]
    if isinstance(value, Applied):
        return is_comparison(value)
    name = value.key if isinstance(value, Part) else value.name if isinstance(value, Leaf) else ""
    return isinstance(name, str) and bool(MASK_WORDS.intersection(words(name)))


def _is_variance(run: Execution, left: Value, right: Value) -> bool:
    """`mean(x * x) - mean(x) ** 2`."""
    right = _forced(run, right)
    is_squared = isinstance(right, Applied) and (_is_square(right) or _is_product_of_one(right))
    if not is_squared or not comes_from_model(run, left):
        return False
    return any(_is_square(one) or _is_product_of_one(one) for one in applied_in(run, left))


def _is_product_of_one(value: Applied) -> bool:
    return value.callee == "*" and value.args[0] is value.args[-1]


def _is_count_of_drawn(run: Execution, value: Value) -> bool:
    """`mask.sum(1)` of a mask drawn at random: how many of each sample, which may be none."""
    value = _forced(run, value)
    if not isinstance(value, Applied) or _name(value) not in {"sum", "count_nonzero"}:
        return False
    is_of_each = len(value.args) > 1 or bool(value.keywords.keys() & {"dim", "axis"})
    if not is_of_each:
        return False
    counted = value.args[0]
    compared = (one for one in ingredients(run, counted) if isinstance(one, Applied) and is_comparison(one))
    return any(has(run, one, is_drawn) for one in compared)


def _forced(run: Execution, value: Value) -> Value:
    while True:
        if isinstance(value, Delayed):
            value = run.expand(value)
        elif isinstance(value, Applied) and _name(value) in LAYOUT and value.args:
            value = value.args[0]
        else:
            return value


def _name(value: Applied) -> str:
    return value.callee.removesuffix("()").rpartition(".")[2]
