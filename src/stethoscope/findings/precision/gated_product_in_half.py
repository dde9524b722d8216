"""A gate multiplies two float16 activations that nothing keeps small.

## What it checks
In code that runs in float16: `gelu(a) * b`, `silu(gate) * up`, a plain `a * b` of two halves and their kin,
where both factors are float16 and come from learned layers. It counts how many layers they went through
since they were last normalised.

## Why it matters
The product of two activations of 256 is 65536, beyond what float16 holds. The overflow is in the forward
pass, so a lower loss scale does not help, and the scaler skips every step that meets it.

## When it is harmless
Right behind a norm and one projection the factors are near 1 at first; they grow as training goes on, and
some channels of language models pass 256, so that this is told too, with less weight. Gates that are bounded
(`sigmoid(a) * b`, GLU), factors in float32 or bfloat16, and products whose types are not known are silent.
Whether a gate that is reported overflows depends on its activations: look at their
largest value.

## References
- Shazeer, "GLU Variants Improve Transformer"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body
from stethoscope.program.precision.tensor_types import MOST_LAYERS
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC108", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

UNBOUNDED = frozenset({"gelu", "silu", "swish", "relu", "mish", "leaky_relu", "elu", "selu", "celu", "relu2"})
MULTIPLYING = frozenset({"mul", "mul_", "multiply", "multiply_"})
CASTS = frozenset({"float", "to", "type", "double"})
ACTING = frozenset({"act", "activation", "act_fn", "nonlinearity", "gelu", "silu", "act_layer"})
# What gives complex numbers, of which a cast to float32 would keep the real part alone.
COMPLEX = frozenset(
    {"fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "rfft", "rfft2", "rfftn", "stft", "ihfft"}
    | {"complex", "view_as_complex", "polar"}
)
LAYERS_OF_PLAIN_GATE = 2  # one on either side: no activation holds back what is below zero


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each product of a float16 activation with a float16 value, far from a norm."""
    for body in half.sections.bodies():
        for node in body.nodes:
            gate = _gate(half.sections, body, node)
            if gate is None or not isinstance(node, ast.expr | ast.AugAssign):
                continue
            at = node.target if isinstance(node, ast.AugAssign) else node
            # Elsewhere the layers behind it have half weights and would refuse float32.
            # A layer that gets the product at once casts it to half, where it overflows all the same.
            is_expression = isinstance(node, ast.expr)
            helps = (
                half.sections.in_autocast(at) and is_expression and not _is_lowered(half.sections, body, at)
            )
            splice = body.upcast(gate) if helps and not _is_complex(body, gate) else None
            yield Finding(
                where=body.source.where(node),
                message=f"`{body.text(node)}` multiplies two float16 activations in {body.spoken}: "
                "beyond 65504 it is inf",
                evidence={"product": body.text(node), "function": body.spoken},
                strength=0.4 if half.sections.is_certain(at) and _is_far(half.sections, at) else 0.2,
                fix=Fix("multiply in float32", Level.UNSAFE, (splice,)) if splice else None,
            )


def _is_complex(body: Body, value: ast.expr) -> bool:
    """Whether a value is the spectrum that a transform gave, or made of complex numbers otherwise."""
    made = body.definition(value)
    names = {
        ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(made) if isinstance(node, ast.Call)
    }
    return bool(names & COMPLEX)


def _gate(half: HalfSections, body: Body, node: ast.AST) -> ast.expr | None:
    """The activation in a product that may overflow; the first factor where there is none."""
    factors = _factors(body, node)
    if factors is None:
        return None
    first, second = factors
    left, right = half.of(first), half.of(second)
    if left is None or right is None or not (left.layers and right.layers):
        return None  # a factor that is bounded, or no output of a layer
    if isinstance(node, ast.expr):
        is_half = half.is_half(node) and half.is_half(first) and half.is_half(second)
        if not (is_half or _is_lowered_at_once(half, body, node, factors)):
            return None
    elif not (half.is_half(first) and half.is_half(second)):
        return None
    acted = [side for side in factors if _is_activation(body, body.definition(side))]
    if acted:
        return acted[0]
    is_square = ast.dump(first) == ast.dump(second)
    return first if left.layers + right.layers >= LAYERS_OF_PLAIN_GATE and not is_square else None


def _factors(body: Body, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two values that a node multiplies, element by element."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right) if isinstance(node.op, ast.Mult) else None
    if isinstance(node, ast.AugAssign):
        return (node.target, node.value) if isinstance(node.op, ast.Mult) else None
    call = body.call(node)
    if call is None:
        return None
    if call.name in MULTIPLYING:
        other = call.args[0] if call.args else call.keywords.get("other")
        return (call.operand, other) if other is not None else None
    if call.name in {"addcmul", "addcmul_"} and len(call.args) >= 2:
        return call.args[-2], call.args[-1]
    return None


def _is_lowered_at_once(
    half: HalfSections, body: Body, node: ast.expr, factors: tuple[ast.expr, ast.expr]
) -> bool:
    """Whether a product that autocast computes in float32, of a power, goes straight into a layer in half."""
    noted = half.of(node)
    if noted is None or noted.dtypes != {DType.FLOAT32} or not any(map(half.is_half, factors)):
        return False
    is_cast = any((c := body.call(part)) is not None and c.name in CASTS for part in body.reach(node))
    return not is_cast and _is_lowered(half, body, node)


def _is_lowered(half: HalfSections, body: Body, node: ast.expr) -> bool:
    """Whether a value goes straight into a layer that autocast runs in half."""
    parent = body.parents.get(node)
    return isinstance(parent, ast.expr) and parent in half.lowered and half.in_autocast(parent)


def _is_far(half: HalfSections, node: ast.expr) -> bool:
    """Whether several layers lie between the last norm and a product."""
    noted = half.of(node)
    return noted is not None and noted.layers >= MOST_LAYERS


def _is_activation(body: Body, node: ast.expr) -> bool:
    call = body.call(node)
    if call is None:
        return False
    return call.name in UNBOUNDED or (call.full.startswith(".") and call.name in ACTING)
