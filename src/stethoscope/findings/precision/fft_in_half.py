"""A Fourier transform runs in float16, where it overflows and takes only powers of two.

## What it checks
Calls of `torch.fft` and `torch.stft` whose input is float16: the output of a layer inside float16 autocast,
of a network with float16 weights, or a cast. Types are followed from the layers to the call. A note is given
where a network's output goes into a transform inside float16 autocast and its type could not be told, and
where only a float32 window keeps `torch.stft` out of float16.

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
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.half_sections import HalfSections
from stethoscope.program.precision.tensor_calls import Body, TensorCall
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision

RULE = Rule(code="PRC103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

BACK = ("ifft", "irfft", "istft", "hfft")
NO_TRANSFORM = frozenset({"fftfreq", "rfftfreq", "fftshift", "ifftshift"})


def examine(half: HalfPrecision) -> Iterator[Finding]:
    """Report each transform of a float16 tensor."""
    for body in half.sections.bodies():
        for node in body.nodes:
            call = _transform(body, node)
            if call is None:
                continue
            if half.sections.is_half(call.operand):
                yield _in_half(half.sections, body, call)
            elif _may_be_half(half.sections, call.operand):
                yield _perhaps(body, call)


def _in_half(half: HalfSections, body: Body, call: TensorCall) -> Finding:
    operand = call.operand
    by_window = _is_single(half, call.keywords.get("window"))
    certain = half.is_certain(operand) and not by_window
    # Elsewhere the layers behind it have half weights and would refuse float32.
    splice = body.upcast(operand) if half.in_autocast(operand) and not _is_of_spectrum(call) else None
    harm = (
        "only the float32 window keeps the transform out of float16"
        if by_window
        else "the transform runs in float16: it overflows above 65504 and takes only powers of two"
    )
    return Finding(
        where=body.source.where(call.node),
        message=f"`{body.text(operand)}` is float16 here, and {harm}",
        evidence={"transform": body.text(call.node), "function": body.spoken},
        strength=0.8 if certain else 0.4,
        severity=None if certain else Severity.NOTE,
        fix=Fix("transform in float32", Level.UNSAFE, (splice,)) if splice else None,
    )


def _perhaps(body: Body, call: TensorCall) -> Finding:
    shown = body.text(call.operand)
    splice = body.upcast(call.operand) if not _is_of_spectrum(call) else None
    return Finding(
        where=body.source.where(call.node),
        message=f"`{shown}` comes out of a network under float16 autocast: the transform runs in "
        "float16 unless something float32 was added to it",
        evidence={"transform": body.text(call.node), "function": body.spoken},
        strength=0.3,
        severity=Severity.NOTE,
        fix=Fix("transform in float32", Level.UNSAFE, (splice,)) if splice else None,
    )


def _is_of_spectrum(call: TensorCall) -> bool:
    """Whether a transform takes complex numbers, of which a cast to float32 would keep the real part alone.

    It runs in float32 once the transform that made them does.
    """
    return call.name.startswith(BACK)


def _may_be_half(half: HalfSections, operand: ast.expr) -> bool:
    """Whether an operand went through learned layers in a float16 region, and its type could not be told."""
    noted = half.of(operand)
    return (
        noted is not None
        and noted.dtypes == {DType.UNKNOWN}
        and noted.layers > 0
        and all(mode.half is DType.FLOAT16 for mode in noted.modes)
    )


def _is_single(half: HalfSections, node: ast.expr | None) -> bool:
    noted = half.of(node) if node is not None else None
    return noted is not None and noted.dtypes == {DType.FLOAT32}


def _transform(body: Body, node: ast.AST) -> TensorCall | None:
    call = body.call(node)
    if call is None or call.name in NO_TRANSFORM:
        return None
    is_fft = call.full.startswith("torch.fft.") or call.full in {"torch.stft", "torch.istft", ".stft"}
    return call if is_fft else None
