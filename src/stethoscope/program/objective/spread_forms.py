"""The spread of a Gaussian in the form that is needed: a variance, a deviation, or the logarithm of one.

A network returns one of them under the name that its author gave it (`log_var`, `logstd`); a likelihood, a
distribution or a draw expects another. What lies between, `exp`, halves and squares, is followed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stethoscope.program.data.ingredients import LAYOUT, peeled
from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Items,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

VARIANCE, DEVIATION, PRECISION = 2.0, 1.0, -2.0  # the power of the deviation
LOG_NAME = re.compile(r"(?:^|_)log_?(?:(var|variance|sigma2|sigma_sq)|(std|stddev|scale|sigma))s?(?:$|_|\d)")
# Bounds and shifts that leave a number in the form it is in.
KEEPING = LAYOUT | {"clamp", "clip", "abs", "nan_to_num", "hardtanh", "clamp_min", "clamp_max"}
DEPTH = 12
MOST_VALUES = 600


@dataclass(frozen=True, slots=True)
class Form:
    """A power of the deviation, or its logarithm; `power` is None where the name leaves it open."""

    power: float | None
    is_log: bool
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A spread that is given where another form of it is needed."""

    form: Form
    wanted: float
    used: Site
    sink: Site


@remembered
def spreads(index: Index, settings: SettingsTree) -> tuple[Spread, ...]:
    """Every spread on the way to a loss that is in another form than the one that is needed."""
    found: dict[int, Spread] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 4)
        try:
            for value in _everything(one.run, one.sink.value):
                for given, node, wanted, used in _uses(value):
                    form = _form(one.run, given, node, DEPTH)
                    if form is not None and _differs(form, wanted):
                        found.setdefault(id(used.node), Spread(form, wanted, used, one.sink.site))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _everything(run: Execution, value: Value) -> Iterator[Value]:
    """A value and all that leads to it, through networks and what they are given."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < MOST_VALUES:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, Delayed):
            waiting.append(run.expand(current))
        waiting.extend(inputs(current))


def _differs(form: Form, wanted: float) -> bool:
    return form.is_log or (form.power is not None and form.power != wanted)


def _uses(value: Value) -> Iterator[tuple[Value, ast.AST | None, float, Site]]:
    """Where a spread is needed: given value, how it is written, the power that is wanted, and the place."""
    if not isinstance(value, Applied):
        return
    last = value.callee.removesuffix("()").rpartition(".")[2]
    is_loss = last == "gaussian_nll_loss" or value.callee.endswith("GaussianNLLLoss()")
    if is_loss:
        given = value.keywords.get("var", value.args[2] if len(value.args) > 2 else None)
        if given is not None:
            yield given, _written(value.site.node, 2, "var"), VARIANCE, value.site
    if value.callee in {"torch.distributions.Normal", "torch.distributions.normal.Normal"}:
        given = value.keywords.get("scale", value.args[1] if len(value.args) > 1 else None)
        if given is not None:
            yield given, _written(value.site.node, 1, "scale"), DEVIATION, value.site
    if value.callee in {"*", "/"} and len(value.args) == 2:
        # A likelihood by hand: squared errors over a variance, or times its inverse.
        wanted = VARIANCE if value.callee == "/" else PRECISION
        first, second = value.args
        if _is_squared_error(first):
            yield second, getattr(value.site.node, "right", None), wanted, value.site
        elif wanted == PRECISION and _is_squared_error(second):
            yield first, getattr(value.site.node, "left", None), wanted, value.site
    if value.callee == "-" and len(value.args) == 2 and _begins_divergence(value.args[0]):
        yield value.args[1], getattr(value.site.node, "right", None), VARIANCE, value.site
    if value.callee == "+" and len(value.args) == 2:
        for product in map(peeled, value.args):
            if not (isinstance(product, Applied) and product.callee in {"*", ".mul"}):
                continue
            if len(product.args) == 2:
                first, second = product.args
                for noise, given, side in ((first, second, "right"), (second, first, "left")):
                    if _is_normal(peeled(noise)):
                        yield given, getattr(product.site.node, side, None), DEVIATION, product.site


def _is_squared_error(value: Value) -> bool:
    match peeled(value):
        case Applied(callee="**" | ".pow" | "torch.pow", args=[Applied(callee="-"), Constant(value=2)]):
            return True
        case Applied(callee=".square" | "torch.square", args=[Applied(callee="-")]):
            return True
    return False


def _begins_divergence(value: Value) -> bool:
    """`1 + log_var - mean**2`, from which the variance is taken."""
    while isinstance(value, Applied) and value.callee == "-" and len(value.args) == 2:
        value = value.args[0]
    match value:
        case Applied(callee="+", args=[Constant(value=1), _] | [_, Constant(value=1)]):
            return True
    return False


def _is_normal(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"randn", "randn_like"}


def _written(call: ast.AST, place: int, name: str) -> ast.AST | None:
    if not isinstance(call, ast.Call):
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return named if named is not None else call.args[place] if len(call.args) > place else None


def _form(run: Execution, value: Value, node: ast.AST | None, depth: int) -> Form | None:
    """The form of a spread, by what was done to what its author named."""
    if depth == 0:
        return None
    match value:
        case Delayed():
            found = _form(run, run.expand(value), None, depth - 1)
            return found if found is not None else _named(node)
        case Choice(options=options):
            forms = {_form(run, option, None, depth - 1) for option in options}
            return forms.pop() if len(forms) == 1 else None
        case Part(base=Delayed() as base, key=int() as key):
            made = run.expand(base)
            while isinstance(made, Delayed):
                made = run.expand(made)
            if isinstance(made, Items) and key < len(made.items):
                found = _form(run, made.items[key], None, depth - 1)
                return found if found is not None else _named(node)
        case Part(key=str() as key):
            return _of_name(key) or _named(node)
        case Leaf(name=name):
            return _of_name(name) or _named(node)
        case Applied(callee=callee, args=[inner, *rest]):
            below = _below(value.site.node)
            last = callee.removesuffix("()").rpartition(".")[2]
            if callee in {"*", "/"} and rest:
                return _scaled(run, value, depth)
            if callee == "()" or callee.endswith("()"):
                return _named(value.site.node.func if isinstance(value.site.node, ast.Call) else None) or (
                    _named(node)
                )
            found = _form(run, inner, below, depth - 1)
            if found is None:
                return _named(node) if last in {"chunk", "split", *KEEPING} or callee == "[]" else None
            return _changed(found, last, rest)
    return _named(node)


def _changed(form: Form, how: str, rest: list[Value]) -> Form | None:
    """A form after one operation; None where it is not known."""
    by = rest[0].value if rest and isinstance(rest[0], Constant) else None
    if how in KEEPING or how == "[]" or (how in {"+", "-", "add"} and by is not None):
        return form
    if how in {"exp", "exp_"}:
        return replace(form, is_log=False) if form.is_log else None
    if form.is_log and how in {"mul", "mul_", "div", "div_"} and isinstance(by, int | float) and by:
        return _times(form, by if how.startswith("mul") else 1 / by)
    if not form.is_log and how == "sqrt":
        return _times(form, 0.5)
    if not form.is_log and how in {"square", "pow", "**"}:
        return _times(form, 2.0 if how == "square" else by) if how == "square" or by else None
    return None


def _times(form: Form, by: object) -> Form | None:
    if not isinstance(by, int | float):
        return None
    return replace(form, power=form.power * by if form.power is not None else None)


def _scaled(run: Execution, value: Applied, depth: int) -> Form | None:
    """`0.5 * logvar`, `logvar / 2`."""
    node = value.site.node
    sides = [(0, 1)] if value.callee == "/" else [(0, 1), (1, 0)]
    for at, other in sides:
        scale = value.args[other]
        if isinstance(scale, Constant) and isinstance(scale.value, int | float) and scale.value:
            written = getattr(node, ("left", "right")[at], None)
            form = _form(run, value.args[at], written, depth - 1)
            if form is None or not form.is_log:
                return None
            return _times(form, 1 / scale.value if value.callee == "/" else scale.value)
    return None


def _below(node: ast.AST) -> ast.AST | None:
    """What an operation is done to, as it is written."""
    if isinstance(node, ast.Call):
        is_method = isinstance(node.func, ast.Attribute) and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in {"torch", "F", "np", "math"}
        )
        if is_method and isinstance(node.func, ast.Attribute):
            return node.func.value
        return node.args[0] if node.args else None
    return getattr(node, "left", getattr(node, "value", None))


def _named(node: ast.AST | None) -> Form | None:
    if isinstance(node, ast.Name):
        return _of_name(node.id)
    return _of_name(node.attr) if isinstance(node, ast.Attribute) else None


def _of_name(name: str) -> Form | None:
    """`log_var`, `fc_logvar`, `log_std`; a `log_sigma` may be the logarithm of either."""
    found = LOG_NAME.search(name.lower())
    if found is None:
        return None
    power = VARIANCE if found[1] else DEVIATION if found[2] in {"std", "stddev"} else None
    return Form(power, True, name)
