"""A Fourier transform runs in float16, where it overflows and takes only powers of two.

## What it checks
Calls of `torch.fft` and `torch.stft` whose input is float16: the output of a layer inside float16 autocast,
of a network with float16 weights, or a cast. Types are followed from the layers to the call.

## Why it matters
Autocast does not list the transforms, so they run in what they get. On CUDA a half-precision transform takes
only sizes that are powers of two and raises for others, and its coefficients are sums over the whole image:
a 512 x 512 image of values up to 1 has a first coefficient of 131,000, twice what float16 holds, and comes
out as NaN. Lowering the loss scale cannot help, because the overflow is in the forward pass.

## When it is harmless
A transform of `x.float()`, or of a value that arithmetic with a float32 tensor made float32, is not
reported. Small power-of-two windows of small values stay in range.

## References
- torch.fft, "Half precision"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.tensor_calls import Body
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

NO_TRANSFORM = frozenset({"fftfreq", "rfftfreq", "fftshift", "ifftshift"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each transform of a float16 tensor."""
    for body in half.sections.bodies():
        for node in body.nodes:
            operand = _transformed(body, node)
            if operand is None or not half.sections.is_half(operand):
                continue
            certain = half.sections.is_certain(operand)
            # Elsewhere the layers behind it have half weights and would refuse float32.
            splice = body.upcast(operand) if half.sections.in_autocast(operand) else None
            yield Finding(
                where=body.source.where(node),
                message=f"`{body.text(operand)}` is float16 here, and the transform runs in float16: "
                "it overflows above 65504 and takes only powers of two",
                evidence={"transform": body.text(node), "function": body.spoken},
                strength=0.8 if certain else 0.4,
                severity=None if certain else Severity.NOTE,
                fix=Fix("transform in float32", Level.UNSAFE, (splice,)) if splice else None,
            )


def _transformed(body: Body, node: ast.AST) -> ast.expr | None:
    call = body.call(node)
    if call is None or call.name in NO_TRANSFORM:
        return None
    is_fft = call.full.startswith("torch.fft.") or call.full in {"torch.stft", "torch.istft", ".stft"}
    return call.operand if is_fft else None
