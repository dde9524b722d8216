"""Estimates that are solved out of a noisy input: `(x_t - b * net(x_t)) / a` of `x_t = a * x_0 + b * noise`.

Divided by the scale of the data, the estimate is one of the data; divided by that of the noise, of the noise.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.ingredients import has, ingredients, is_drawn, peeled, returned
from stethoscope.program.objective.sampling import Meaning
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Applied, Constant, Delayed, Items, Part, Site, Value

DEPTH = 12


def recovered(run: Execution, prediction: Value) -> tuple[Meaning, Site] | None:
    """What a prediction is an estimate of, where it is solved for that; and where."""
    for output in map(peeled, returned(run, peeled(prediction))):
        match output:
            case Applied(callee="/", args=[Applied(callee="-", args=[noisy, learned]), scale]):
                if not has(run, learned, lambda one: is_network_pass(run.index, one)):
                    continue
                for of_data, of_noise in _mixtures(run, noisy):
                    if same_formula(scale, of_data):
                        return Meaning.CLEAN, output.site
                    if same_formula(scale, of_noise):
                        return Meaning.NOISE, output.site
    return None


def _mixtures(run: Execution, noisy: Value) -> Iterator[tuple[Value, Value]]:
    """The scales of data and noise in a noisy value."""
    for one in ingredients(run, noisy):
        if not (isinstance(one, Applied) and one.callee == "+" and len(one.args) == 2):
            continue
        left, right = (peeled(arg) for arg in one.args)
        if not all(
            isinstance(arg, Applied) and arg.callee == "*" and len(arg.args) == 2 for arg in (left, right)
        ):
            continue
        for data, noise in ((left, right), (right, left)):
            of_data, of_noise = _scale(run, data, is_noise=False), _scale(run, noise, is_noise=True)
            if of_data is not None and of_noise is not None:
                yield of_data, of_noise


def _scale(run: Execution, product: Value, is_noise: bool) -> Value | None:
    """What noise, or data, is multiplied with in a product."""
    assert isinstance(product, Applied)
    for thing, scale in (product.args, product.args[::-1]):
        if is_drawn(peeled(thing)) is not is_noise:
            continue
        if is_noise or _is_data(thing):
            return scale
    return None


def _is_data(value: Value) -> bool:
    current = peeled(value)
    while isinstance(current, Part):
        current = current.base
    return is_loader(current)


def same_formula(one: Value, other: Value, depth: int = DEPTH) -> bool:
    """Whether two values are computed in the same way from the same things."""
    one, other = peeled(one), peeled(other)
    if one is other:
        return True
    if depth == 0:
        return False
    match one, other:
        case Constant(value=left), Constant(value=right):
            return type(left) is type(right) and bool(left == right)
        case Part(base=left_base, key=left_key), Part(base=right_base, key=right_key):
            return left_key == right_key and same_formula(left_base, right_base, depth - 1)
        case Items(items=left_items), Items(items=right_items):
            return _all_same(left_items, right_items, depth)
        case Applied(callee=left_name, args=left_args), Applied(callee=right_name, args=right_args):
            return left_name == right_name and not is_drawn(one) and _all_same(left_args, right_args, depth)
        case Delayed(callee=left_callee, args=left_args), Delayed(callee=right_callee, args=right_args):
            same = getattr(left_callee, "function", left_callee) is getattr(
                right_callee, "function", right_callee
            )
            return same and _all_same(left_args, right_args, depth)
    return False


def _all_same(
    left: list[Value] | tuple[Value, ...], right: list[Value] | tuple[Value, ...], depth: int
) -> bool:
    return len(left) == len(right) and all(
        same_formula(a, b, depth - 1) for a, b in zip(left, right, strict=True)
    )
