"""An epsilon is too small for float16 and becomes zero, so it protects nothing.

## What it checks
A number added to a float16 tensor, or used as its lower bound, that is below half of float16's smallest
number (6e-8), and an upper bound such as `1 - 1e-7` that float16 rounds to 1. Types are followed from the
layers that run in float16; the number may be a default or an attribute such as `self.eps`.

## Why it matters
`x + 1e-8` in float16 is `x`. Where x is 0, the division behind it gives inf or NaN, and a logarithm -inf,
although autocast runs the logarithm itself in float32: the sum was rounded before.

## When it is harmless
1e-7 and above are kept, coarsely. In float32 and bfloat16 all of these are numbers. The epsilon of
`nn.LayerNorm`, `F.layer_norm` and `nn.BatchNorm2d` is added in float32 inside. A divisor that is never zero
needs no epsilon.

## References
- torch.finfo(torch.float16)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

SMALLEST = 2.0**-24  # float16's smallest number; half of it and less is rounded to zero
BELOW_ONE = 2.0**-11  # the step below 1; what is nearer to 1 than half of it is rounded to 1
BOUNDING = frozenset({"clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_min_"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each epsilon that float16 rounds away."""
    for body in half.sections.bodies():
        for node in body.nodes:
            for number, tensor, becomes in _lost(half.sections, body, node):
                certain = half.sections.is_certain(tensor)
                # Elsewhere the layers behind it have half weights and would refuse float32.
                is_castable = isinstance(node, ast.expr) and half.sections.in_autocast(tensor)
                splice = body.upcast(tensor) if is_castable else None
                said = f"{becomes} in {half.sections.spoken(tensor)}"
                yield Finding(
                    where=body.source.where(node),
                    message=f"{body.text(number)} is {said}, the type of `{body.text(tensor)}`",
                    evidence={"expression": body.text(node), "function": body.spoken},
                    proof="float16 has no number between 0 and 6e-8, and none between 0.9995 and 1",
                    strength=0.9 if certain else 0.4,
                    severity=None if certain else Severity.NOTE,
                    fix=Fix("add the epsilon in float32", Level.UNSAFE, (splice,)) if splice else None,
                )


def _lost(half: HalfSections, body: Body, node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """The numbers that are rounded away at a node, the tensor beside each, and what they become."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        if half.is_half(node.target) and _is_lost(half, node.value):
            yield node.value, node.target, "0"
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for number, tensor in ((node.right, node.left), (node.left, node.right)):
            if half.is_half(tensor) and _is_lost(half, number):
                yield number, tensor, "0"
        return
    call = body.call(node)
    if call is None or not half.is_half(call.operand):
        return
    if call.name in {"add", "add_"} and call.args and _is_lost(half, call.args[0]):
        yield call.args[0], call.operand, "0"
    if call.name == "normalize" and half.is_half(call.node):
        epsilon = call.keywords.get("eps")
        if epsilon is not None and _is_lost(half, epsilon):
            yield epsilon, call.operand, "0"
    if call.name in {"maximum", "max", "fmax"} and call.args:
        filled = _filled(body, call.args[0])
        if filled is not None and _is_lost(half, filled):
            yield filled, call.operand, "0"
    if call.name not in BOUNDING:
        return
    low = call.keywords.get("min") or (call.args[0] if call.args else None)
    high = call.keywords.get("max") or (call.args[1] if len(call.args) > 1 else None)
    if low is not None and _is_lost(half, low):
        yield low, call.operand, "0"
    elif high is not None and _is_one(half, high):
        yield high, call.operand, "1"


def _filled(body: Body, node: ast.expr) -> ast.expr | None:
    """The number that a tensor is filled with: `torch.full_like(x, 1e-8)`, `x.new_tensor(1e-8)`."""
    call = body.call(body.definition(node))
    if call is None:
        return None
    if call.name in {"full_like", "new_full"} and call.args:
        return call.args[-1]
    if call.name == "tensor" and call.full == "torch.tensor":
        return call.operand
    return call.args[0] if call.name == "new_tensor" and call.args else None


def _is_lost(half: HalfSections, node: ast.expr) -> bool:
    number = _number(half, node)
    return number is not None and 0 < number <= SMALLEST / 2


def _is_one(half: HalfSections, node: ast.expr) -> bool:
    number = _number(half, node)
    return number is not None and 0 < 1 - number < BELOW_ONE / 2


def _number(half: HalfSections, node: ast.expr) -> float | None:
    noted = half.of(node)
    return noted.number if noted is not None else None
