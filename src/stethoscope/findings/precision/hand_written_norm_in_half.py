"""A hand-written norm computes its variance in half, where it overflows or keeps three digits.

## What it checks
In code that runs under autocast or on half weights: a variance or mean of squares that is itself half
(`x.var()`, `torch.var_mean`, `(x * x).mean()`) and that a square root turns into a divisor. Types are
followed from the layers: a convolution gives half, `.float()` and `pow` give float32.

## Why it matters
float16 ends at 65504, so a variance above it, which is a spread of only 256, becomes inf. The layer then
divides by inf: its output is zero and so are its gradients, with no NaN that anybody would notice. `var`,
`sqrt` and `mean` are not on autocast's float32 list; `F.layer_norm` and `F.group_norm` are. bfloat16 does not
overflow, but keeps 8 bits: every activation of a layer is off by up to 1 in 256, layer upon layer (a note).

## When it is harmless
Statistics of `x.float()`, inside a region with autocast off, or by operations that autocast runs in float32
(`x.pow(2).mean()`, `x ** 2`, `x.norm()`) are not reported. A divisor from `x.std()` cannot overflow.
Activations that stay small never reach the limit.

## References
- torch.amp, "CUDA Ops that can autocast to float32"
- Restormer and FFTformer, whose layer norms have this form
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC101", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

VARIANCES = frozenset({"var", "var_mean"})
SUMS = frozenset({"sum", "mean"})
SQUARES = frozenset({"square", "pow", "square_", "pow_", "mul"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each variance in half that becomes a divisor."""
    told: set[ast.expr] = set()
    for sections in (half.sections, half.sections.under(DType.BFLOAT16)):
        bodies = list(sections.bodies())
        dividing = frozenset(name for body in bodies for name in _divided_by(body))
        for body in bodies:
            yield from _findings(sections, body, dividing, told)


def _findings(
    half: HalfSections, body: Body, dividing: frozenset[str], told: set[ast.expr]
) -> Iterator[Finding]:
    overflows = half.dtype is DType.FLOAT16
    harm = "above 65504 it is inf and the output 0" if overflows else "it keeps 8 bits, three digits"
    for statistic, operand, root in _statistics(half, body, dividing):
        if statistic not in told:
            told.add(statistic)
            certain = overflows and half.is_certain(statistic)
            # Elsewhere the layers behind it have half weights and would refuse float32.
            splice = body.upcast(operand) if half.in_autocast(statistic) else None
            if isinstance(statistic, ast.Call) and any(word.arg == "dtype" for word in statistic.keywords):
                splice = None  # the type is told
            yield Finding(
                where=(body.source.where(statistic), body.source.where(root)),
                message=f"the variance in {body.spoken} is {half.spoken(statistic)}: {harm}",
                evidence={
                    "statistic": body.text(statistic),
                    "of": body.text(operand),
                    "function": body.spoken,
                },
                strength=0.8 if certain else 0.4,
                severity=None if certain else Severity.NOTE,
                fix=Fix("compute the variance in float32", Level.UNSAFE, (splice,)) if splice else None,
            )


def _statistics(
    half: HalfSections, body: Body, dividing: frozenset[str]
) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """The float16 statistics below a square root that divides, each with the tensor to cast and the root."""
    seen: set[ast.expr] = set()
    for root, inside in _roots(body):
        if not (_divides(body, root) or (body.function.name in dividing and _is_returned(body, root))):
            continue
        for node in body.reach(inside):
            found = _statistic(half, body, node)
            if found is not None and node not in seen:
                seen.add(node)
                yield node, found, root


def _roots(body: Body) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Square roots, written as a call or as a power, with what is below them."""
    for node in body.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _is_half_power(node.right):
            yield node, node.left
        call = body.call(node)
        if call is None:
            continue
        is_power = call.name == "pow" and call.args and _is_half_power(call.args[0])
        if is_power or call.name in {"sqrt", "rsqrt", "sqrt_", "rsqrt_"}:
            yield call.node, call.operand


def _is_half_power(node: ast.expr) -> bool:
    try:
        return bool(abs(ast.literal_eval(node)) == 0.5)
    except (ValueError, TypeError, SyntaxError):
        return False


def _divides(body: Body, root: ast.expr) -> bool:
    """Whether a root ends up as a divisor, or is a reciprocal already."""
    call = body.call(root)
    is_reciprocal = call is not None and call.name.startswith("rsqrt")
    if is_reciprocal or (isinstance(root, ast.BinOp) and isinstance(root.right, ast.UnaryOp)):
        return True
    for node in body.nodes:
        match node:
            case ast.BinOp(op=ast.Div(), right=right) | ast.AugAssign(op=ast.Div(), value=right):
                if any(part is root for part in body.reach(right)):
                    return True
            case ast.Call():
                divided = body.call(node)
                if divided is not None and divided.name in {"div", "div_", "true_divide", "reciprocal"}:
                    parts = (divided.operand, *divided.args)
                    if any(part is root for arg in parts for part in body.reach(arg)):
                        return True
    return False


def _divided_by(body: Body) -> Iterator[str]:
    """The names of functions whose results a function divides by."""
    for node in body.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            for part in body.reach(node.right):
                if isinstance(part, ast.Call):
                    yield (dotted(part.func) or "").rpartition(".")[2]


def _is_returned(body: Body, root: ast.expr) -> bool:
    returned = (node.value for node in body.nodes if isinstance(node, ast.Return) and node.value is not None)
    return any(part is root for value in returned for part in body.reach(value))


def _statistic(half: HalfSections, body: Body, node: ast.expr) -> ast.expr | None:
    """The tensor whose float16 variance or mean of squares a node is."""
    call = body.call(node)
    if call is not None and call.name in VARIANCES:
        return call.operand if half.is_half(node) and half.is_half(call.operand) else None
    if not half.is_half(node):
        return None
    if call is not None and call.name in SUMS and "dtype" in call.keywords:
        # The sum is told to be half, whatever the squares are.
        return _squared_by(body, body.definition(call.operand))
    if call is not None and call.name == "einsum" and len(call.args) == 2:
        first, second = map(body.definition, call.args)
        return call.args[0] if ast.dump(first) == ast.dump(second) else None
    return _squared(half, body, node)


def _squared_by(body: Body, node: ast.expr) -> ast.expr | None:
    """The tensor that is squared here, of whatever type it is."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.dump(left) == ast.dump(right):
            return left
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2)):
            return left
    call = body.call(node)
    if call is None or call.name not in {"square", "pow"}:
        return None
    is_two = call.name == "square" or (bool(call.args) and ast.unparse(call.args[0]) in {"2", "2.0"})
    return call.operand if is_two else None


def _squared(half: HalfSections, body: Body, node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.dump(left) == ast.dump(right):
            return left
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2)):
            return left
    call = body.call(node)
    if call is None or call.name not in SQUARES or not half.is_half(call.operand):
        return None
    given = call.args[0] if call.args else None
    if call.name in {"pow", "pow_"} and not (isinstance(given, ast.Constant) and given.value == 2):
        return None
    is_square = call.name != "mul" or (given is not None and ast.dump(given) == ast.dump(call.operand))
    return call.operand if is_square else None
