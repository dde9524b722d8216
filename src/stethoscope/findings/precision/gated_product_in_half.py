"""A gate multiplies two float16 activations that nothing keeps small.

## What it checks
In code that runs in float16: `gelu(a) * b`, `silu(gate) * up` and their kin, where both factors are float16
and have gone through several learned layers, or earlier products, since they were last normalised.

## Why it matters
The product of two activations of 256 is 65536, beyond what float16 holds. The overflow is in the forward
pass, so a lower loss scale does not help, and the scaler skips every step that meets it.

## When it is harmless
Right behind a norm and one projection the factors stay near 1, as in most language models: silent. So are
gates that are bounded (`sigmoid(a) * b`, GLU), factors in float32 or bfloat16, and products whose types are
not known. Whether a gate that is reported overflows depends on its activations: look at their largest value.

## References
- Shazeer, "GLU Variants Improve Transformer"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.half_sections import HalfSections
from stethoscope.program.tensor_calls import Body
from stethoscope.program.tensor_types import MOST_LAYERS
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC108", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

UNBOUNDED = frozenset({"gelu", "silu", "swish", "relu", "mish", "leaky_relu", "elu", "selu", "celu", "relu2"})
ACTING = frozenset({"act", "activation", "act_fn", "nonlinearity", "gelu", "silu", "act_layer"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each product of a float16 activation with a float16 value, far from a norm."""
    for body in half.sections.bodies():
        for node in body.nodes:
            gate = _gate(half.sections, body, node)
            if gate is None or not isinstance(node, ast.BinOp):
                continue
            # Elsewhere the layers behind it have half weights and would refuse float32.
            splice = body.upcast(gate) if half.sections.in_autocast(node) else None
            yield Finding(
                where=body.source.where(node),
                message=f"`{body.text(node)}` multiplies two float16 activations in {body.spoken}: "
                "beyond 65504 it is inf",
                evidence={"product": body.text(node), "function": body.spoken},
                strength=0.4 if half.sections.is_certain(node) else 0.2,
                fix=Fix("multiply in float32", Level.UNSAFE, (splice,)) if splice else None,
            )


def _gate(half: HalfSections, body: Body, node: ast.AST) -> ast.expr | None:
    """The activation in a product that may overflow."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and half.is_float16(node)):
        return None
    noted = half.of(node)
    if noted is None or noted.layers < MOST_LAYERS:
        return None
    for gate, other in ((node.left, node.right), (node.right, node.left)):
        if _is_activation(body, body.definition(gate)) and half.is_float16(gate) and half.is_float16(other):
            beside = half.of(other)
            return gate if beside is not None and beside.layers > 0 else None
    return None


def _is_activation(body: Body, node: ast.expr) -> bool:
    call = body.call(node)
    if call is None:
        return False
    return call.name in UNBOUNDED or (call.full.startswith(".") and call.name in ACTING)
