"""An exponential, or a sum of squares, is computed in float16 and overflows.

## What it checks
`exp`, `exp2`, `expm1`, `cosh` and `sinh` whose result is float16, an exponential that is cast to float16,
sums and means of squares that are squared in float16 (`(x * x).sum()`), and the logarithm of a float16
softmax or sigmoid. Under autocast `exp`, `pow`, `log`, `softmax` and `sum` run in float32 and are not
reported; what autocast does not know (`exp2`, `x * x`, every operation in place) and all of them on float16
weights or explicit casts are.

## Why it matters
exp(x) is inf in float16 from x = 11.1, and a square from 256: hand-written softmax, log-sum-exp and energies
then divide inf by inf. A probability below 6e-8 is 0, and its logarithm -inf.

## When it is harmless
With the maximum subtracted first (`(x - x.amax()).exp()`), with a negative exponent, after `.float()`. In
bfloat16 only a sum of exponentials is told, as a note: it has the range of float32, but three digits.

## References
- torch.amp, "CUDA Ops that can autocast to float32"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body, TensorCall
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC105", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

GROWING = frozenset({"exp", "exp_", "exp2", "exp2_", "expm1", "expm1_", "cosh", "sinh"})
LOGARITHMS = frozenset({"log", "log_", "log2", "log10"})
VANISHING = frozenset({"softmax", "sigmoid", "exp"})
LARGEST = frozenset({"max", "amax", "logsumexp", "maximum"})
SUMS = frozenset({"sum", "mean"})
ROOTS = frozenset({"sqrt", "rsqrt", "sqrt_", "rsqrt_"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report what overflows or vanishes in float16, and what bfloat16 rounds to nothing."""
    told: set[ast.AST] = set()
    for finding, node in (
        *_in_float16(half),
        *_told_to_be_half(half.sections),
        *_in_bfloat16(half.sections.under(DType.BFLOAT16)),
    ):
        if node not in told:
            told.add(node)
            yield finding


def _told_to_be_half(half: HalfSections) -> Iterator[tuple[Finding, ast.AST]]:
    """A softmax that autocast would run in float32, if it were not told another type."""
    for body in half.bodies():
        for node in body.nodes:
            call = body.call(node)
            if call is None or call.name not in {"softmax", "log_softmax"} or "dtype" not in call.keywords:
                continue
            if half.is_half(call.node) and half.is_certain(call.node) and half.in_autocast(call.node):
                finding = Finding(
                    where=body.source.where(call.node),
                    message=f"`{body.text(call.node)}` is told to be float16, where autocast would take "
                    "float32: what is below 6e-8 becomes 0",
                    evidence={"expression": body.text(call.node), "function": body.spoken},
                    strength=0.4,
                    severity=Severity.NOTE,
                )
                yield finding, call.node


def _in_bfloat16(half: HalfSections) -> Iterator[tuple[Finding, ast.AST]]:
    """Sums of exponentials as a softmax or a partition function has them."""
    for body in half.bodies():
        for node in body.nodes:
            total = body.call(node)
            if total is None or total.name not in {"sum", "mean"} or not half.is_half(total.node):
                continue
            call = body.call(body.definition(total.operand))
            if call is None or call.name not in GROWING or not half.is_half(call.operand):
                continue
            if not _is_bounded(body, call.operand):
                shown = body.text(call.node)
                finding = Finding(
                    where=body.source.where(call.node),
                    message=f"`{shown}` is bfloat16, and so is its sum: three digits are kept of both, "
                    "and of the logarithm or quotient behind them",
                    evidence={"expression": body.text(total.node), "function": body.spoken},
                    strength=0.4,
                    severity=Severity.NOTE,
                )
                yield finding, call.node


def _in_float16(half: HalfPrecision) -> Iterator[tuple[Finding, ast.AST]]:
    for body in half.sections.bodies():
        for node in body.nodes:
            call = body.call(node)
            if call is None:
                continue
            for operand, message in _hazards(half.sections, body, call):
                certain = half.sections.is_certain(call.node)
                # Elsewhere the layers behind it have half weights and would refuse float32.
                is_told = "dtype" in call.keywords
                splice = (
                    body.upcast(operand) if half.sections.in_autocast(call.node) and not is_told else None
                )
                finding = Finding(
                    where=body.source.where(call.node),
                    message=message,
                    evidence={"expression": body.text(call.node), "function": body.spoken},
                    strength=0.8 if certain else 0.4,
                    severity=None if certain else Severity.NOTE,
                    fix=Fix("compute it in float32", Level.UNSAFE, (splice,)) if splice else None,
                )
                yield finding, call.node


def _hazards(half: HalfSections, body: Body, call: TensorCall) -> Iterator[tuple[ast.expr, str]]:
    shown = body.text(call.node)
    is_half = half.is_half(call.node)
    kind = half.spoken(call.node)
    if call.name in GROWING and is_half and half.is_half(call.operand):
        if not _is_bounded(body, call.operand):
            end = 16 if call.name.startswith("exp2") else 11.1
            yield call.operand, f"`{shown}` is {kind}: it is inf from an exponent of {end}"
    elif call.name in {"half", "to", "type_as"} and is_half:
        inner = body.call(body.definition(call.operand))
        if inner is not None and inner.name in GROWING and not _is_bounded(body, inner.operand):
            yield (
                call.operand,
                f"`{shown}` casts an exponential to float16: it is inf from an exponent of 11.1",
            )
    elif call.name in SUMS and is_half and "dtype" in call.keywords:
        summed = body.definition(call.operand)
        inner = body.call(summed)
        grows = inner is not None and inner.name in GROWING and not _is_bounded(body, inner.operand)
        if (grows or _is_square(body, summed)) and not _is_below_root(body, call.node):
            yield call.operand, f"`{shown}` is told to be {kind}: above 65504 it is inf"
    elif call.name in SUMS:
        squared = _square(half, body, body.definition(call.operand))
        if squared is not None and not _is_below_root(body, call.node):
            yield squared, f"the squares in `{shown}` are {kind}: they are inf from a value of 256"
    elif call.name in LOGARITHMS and is_half:
        inner = body.call(body.definition(call.operand))
        if inner is not None and inner.name in VANISHING and half.is_half(inner.node):
            yield call.operand, f"`{shown}` is {kind}: what is below 6e-8 is 0, and its logarithm -inf"


def _is_square(body: Body, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return ast.dump(left) == ast.dump(right)
        case ast.BinOp(op=ast.Pow()):
            return True
    call = body.call(node)
    return call is not None and call.name in {"square", "pow"}


def _is_bounded(body: Body, exponent: ast.expr) -> bool:
    """Whether an exponent cannot be large: its maximum was subtracted, or it is negative."""
    exponent = body.definition(exponent)
    match exponent:
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.BinOp(op=ast.Sub(), right=right):
            return any((c := body.call(part)) is not None and c.name in LARGEST for part in body.reach(right))
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _is_negative(left) or _is_negative(right)
    call = body.call(exponent)
    bounding = {
        "clamp",
        "clamp_max",
        "clip",
        "minimum",
        "tanh",
        "sigmoid",
        "neg",
        "log_softmax",
        "logsigmoid",
    }
    return call is not None and call.name in bounding


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _square(half: HalfSections, body: Body, node: ast.expr) -> ast.expr | None:
    """The tensor that is squared in float16."""
    if not half.is_half(node):
        return None
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.dump(left) == ast.dump(right):
            return left if half.is_half(left) else None
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=power)) if _is_large(power):
            return left if half.is_half(left) else None
    call = body.call(node)
    if call is None or not half.is_half(call.operand):
        return None
    if call.name in {"square", "square_"}:
        return call.operand
    if call.name in {"mul", "multiply", "mul_"} and call.args:
        return call.operand if ast.dump(call.args[0]) == ast.dump(call.operand) else None
    if call.name in {"pow", "pow_"} and call.args and isinstance(call.args[0], ast.Constant):
        return call.operand if _is_large(call.args[0].value) else None
    return None


def _is_large(power: object) -> bool:
    return isinstance(power, int | float) and power >= 2


def _is_below_root(body: Body, node: ast.expr) -> bool:
    """Whether a square root is taken of a sum in this function: then it is a norm, another rule's subject."""
    for other in body.nodes:
        call = body.call(other)
        if call is not None and call.name in ROOTS and any(part is node for part in body.reach(call.operand)):
            return True
        is_power = isinstance(other, ast.BinOp) and isinstance(other.op, ast.Pow)
        if is_power and any(part is node for part in body.reach(other.left)):  # type: ignore[attr-defined]
            return True
    return False
