"""A picture metric assumes another range than its pictures have.

## What it checks
PSNR and SSIM, written by hand or from a library: whether the peak in the formula, or the `data_range` that
is given, fits the range to which the pictures were clamped, squashed or scaled before, and whether they are
still in standard deviations. Outputs of a network whose loss takes logits: whether they are held against 0.5
as if they were probabilities.

## Why it matters
A peak of 255 for pictures in [0, 1] adds 48 dB to every PSNR; a peak of 1 for pictures in [-1, 1] takes 6
dB away and changes the constants of SSIM. The curve keeps its shape, so the mistake shows only beside other
people's numbers, or in a comparison with the trivial baseline. A logit of 0.5 is a probability of 0.62, so
that an F1 or an accuracy misses a share of what the network has found.

## When it is harmless
Pictures that are brought to 0..255 right before. Where nothing in the source bounds the pictures, their
range is not known, and nothing is said.

## References
- skimage.metrics.peak_signal_noise_ratio, torchmetrics.image.PeakSignalNoiseRatio
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.evaluation.metric_ranges import Mismatch, mismatches
from stethoscope.program.evaluation.probability_thresholds import thresholds_by_value
from stethoscope.program.evaluation.standardised_pictures import in_deviations
from stethoscope.program.evaluation.thresholds_on_logits import thresholds_on_logits
from stethoscope.program.evaluation.validation_hooks import validation_walks
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.evaluations import Evaluations

HALF = 0.5

RULE = Rule(code="EVA105", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(evaluations: Evaluations) -> Iterator[Finding]:
    """Report each metric whose peak does not fit its pictures."""
    seen: set[object] = set()
    walks = (*evaluations.walks, *validation_walks(evaluations.index, evaluations.settings))
    for walk in walks:
        for mismatch in mismatches(walk):
            if mismatch.formula.node in seen:
                continue
            seen.add(mismatch.formula.node)
            low, high = mismatch.range
            yield Finding(
                tuple(dict.fromkeys((mismatch.formula.where, mismatch.called.where))),
                f"{mismatch.metric} assumes a peak of {mismatch.peak:g}, and what it compares is in"
                f" [{low:g}, {high:g}]{_worth(mismatch)}",
                evidence={"peak": mismatch.peak, "low": low, "high": high},
                fix=_of_range(mismatch),
            )
    for walk in walks:
        for other in in_deviations(walk):
            if other.formula.node in seen:
                continue
            seen.add(other.formula.node)
            yield Finding(
                tuple(dict.fromkeys((other.formula.where, other.called.where, other.standardised.where))),
                f"this assumes a peak of {other.peak:g}, and what it compares is in standard deviations",
                evidence={"peak": other.peak, "standardised": other.standardised.text},
            )
    by_value = (found for walk in evaluations.walks for found in thresholds_by_value(walk))
    for found in (*by_value, *thresholds_on_logits(evaluations.index)):
        if found.comparison.node in seen:
            continue
        seen.add(found.comparison.node)
        yield Finding(
            (found.comparison.where, found.run.where),
            "outputs that the loss takes as logits are held against the probability 0.5 here",
            evidence={"compared": found.comparison.text, "output": found.run.text},
            fix=_of_logits(found.comparison),
        )


def _worth(mismatch: Mismatch) -> str:
    """How many decibels a PSNR is off."""
    if mismatch.metric != "PSNR":
        return ""
    off = 20 * math.log10(mismatch.peak / (mismatch.range[1] - mismatch.range[0]))
    return f": {abs(off):.0f} dB too {'many' if off > 0 else 'few'}"


def _of_range(mismatch: Mismatch) -> Fix | None:
    """The peak that is written in the formula replaced by the width of the range."""
    site, width = mismatch.formula, mismatch.range[1] - mismatch.range[0]
    told = {id(word.value) for word in getattr(site.node, "keywords", ())}
    # A one may be a square as well, and twos and tens belong to the formula.
    found = [
        (one, width if number == mismatch.peak else width**2)
        for one, number in _numbers(site.node)
        if number in {mismatch.peak, mismatch.peak**2} and (id(one) in told or number not in {1, 2, 10, 20})
    ]
    if len(found) != 1:
        return None
    constant, number = found[0]
    text = f"{number:g}" if isinstance(constant.value, int) else f"{number:.1f}"
    splice = replaced(site.source, constant, text)
    return Fix(f"measure with a peak of {width:g}", Level.UNSAFE, (splice,)) if splice is not None else None


def _of_logits(comparison: Site) -> Fix | None:
    """A probability of one half is a logit of zero."""
    found = [one for one, number in _numbers(comparison.node) if number == HALF]
    splice = replaced(comparison.source, found[0], "0") if len(found) == 1 else None
    return Fix("hold the logits against zero", Level.SAFE, (splice,)) if splice is not None else None


def _numbers(node: ast.AST) -> Iterator[tuple[ast.Constant, float]]:
    for one in all_nodes(node):
        value = one.value if isinstance(one, ast.Constant) else None
        if isinstance(one, ast.Constant) and isinstance(value, int | float) and not isinstance(value, bool):
            yield one, float(value)
