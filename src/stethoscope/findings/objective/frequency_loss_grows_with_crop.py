"""A frequency loss is not normalised, so its size depends on the crop and drowns the other terms.

## What it checks
Each term of the loss that goes through a Fourier transform is computed by its own formula on pictures of two
sizes. A term that grows with the size of the picture and outweighs the other terms is reported, with the
factor at a crop of 128 pixels.

## Why it matters
Without `norm="ortho"` a coefficient is as large as the square root of the number of pixels. At 128 x 128 a
weight of 0.1 makes the frequency term nine times the pixel term: gradients and clipping are governed by it,
and changing the crop changes the experiment.

## When it is harmless
`norm="ortho"`, a division by the square root of the number of pixels, or a weight that brings the term below
the others at the crop in use. A frequency loss that is the only term has nothing to drown.

## References
- torch.fft.rfft2, argument `norm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import dotted
from stethoscope.program.objective.term_sizes import ERRORS, SMALL, TermSize, with_assumed
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site, span_of
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.term_sizes import TermSizes

RULE = Rule(code="OBJ103", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

GROWS = 1.25  # from one size to its double: 2 without a norm, the root of two along one axis, 1 with a norm
FLAT = 1.7  # between one axis and two
OF_POWERS = 4.0  # how much the squares of coefficients grow without a norm, and their root along one axis
SLACK = 1.1
CROP = 128  # a usual crop, for which the factor is told
LENGTH = 16_384  # a usual length of what is transformed along one axis: a second of sound
UNSIZED = 1.0  # what a loss that cannot be computed is at most, as a cross entropy of a few classes
DROWNS = 3.0  # times the other terms


def examine(sizes: TermSizes) -> Iterator[Finding]:
    """Report each frequency term that grows with the picture and outweighs the others."""
    for terms in sizes:
        for term in terms:
            others = sum(other.sizes[SMALL, ERRORS[0]] for other in terms if not other.is_spectral)
            others = others or UNSIZED * term.beside
            if not term.is_spectral or term.growth < GROWS or not others:
                continue
            # Along one axis a doubling of the side gives the root of two.
            is_flat = term.growth > FLAT
            at = CROP if is_flat else LENGTH
            at_size = (
                term.sizes[SMALL, ERRORS[0]]
                * (at / (SMALL * term.samples)) ** (1 if is_flat else 0.5)
                / others
            )
            if at_size >= DROWNS:
                yield _finding(term, at_size, f"{CROP} x {CROP}" if is_flat else f"{LENGTH} samples")


def _finding(term: TermSize, times: float, size: str) -> Finding:
    return Finding(
        where=(
            *((term.spectrum.where,) if term.spectrum is not None else ()),
            term.site.where,
            term.sink.where,
        ),
        message=(
            f"the frequency loss grows with the size of its input and is {times:.1f} times the other terms "
            f"at {size}{with_assumed(term)}"
        ),
        evidence={
            "growth per doubling": round(term.growth, 2),
            f"times the others at {size}": round(times, 1),
        },
        proof="computed by its own formula on pictures of 32 and 64 pixels",
        fix=_fix(term.spectrum, term.growth),
    )


def _fix(spectrum: Site | None, growth: float) -> Fix | None:
    """Give every transform of the function the orthonormal scale, where that is all that is missing."""
    node = spectrum.node if spectrum is not None else None
    if spectrum is None or not isinstance(node, ast.Call):
        return None
    is_line = (dotted(node.func) or "").rpartition(".")[2] in {"fft", "rfft"}
    if growth > (OF_POWERS**0.5 if is_line else OF_POWERS) * SLACK:
        return None  # something is summed over the picture too
    splices = [
        splice
        for call in all_nodes(spectrum.source.tree, ast.Call)
        if ast.dump(call.func) == ast.dump(node.func)
        if (splice := _orthonormal(spectrum, call)) is not None
    ]
    return Fix('scale the transforms with norm="ortho"', Level.UNSAFE, tuple(splices)) if splices else None


def _orthonormal(spectrum: Site, call: ast.Call) -> Splice | None:
    if any(keyword.arg in {"norm", None} for keyword in call.keywords) or not call.args or len(call.args) > 3:
        return None
    span = span_of(spectrum.source, (call.keywords or call.args)[-1])
    return Splice(spectrum.source.file, span[1], span[1], ', norm="ortho"') if span else None
