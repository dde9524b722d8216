"""Validation shrinks or crops the images it measures, so its scores are those of another task.

## What it checks
Every function that evaluates is followed from the data to the metric or loss that holds a prediction against
a target. The sizes that resizes, poolings, strides and crops on the target's way ask for are computed for a
large picture. A target that arrives at the metric much smaller is reported, with the call that shrank it.

## Why it matters
Scores on shrunken images compare neither with a baseline, nor with published numbers, nor with what the model
is used for. Without antialiasing even a perfect model scores badly, and a model that learns to restore detail
may score worse and worse while it improves: the metric peaks early and declines.

## When it is harmless
Making the network's input from the target (the task itself) leaves the target alone, as does enlarging a
prediction to the target's size. Cropping to a multiple of the scale, cutting a border, padding, tiling,
resizing for pictures that are only saved, metrics that need a fixed input (LPIPS, FID), a usual fixed
resolution, a resize that training applies to its targets too, and the strength of detail averaged over cells
(a statistic that a metric takes of whole pictures) are not reported.

## References
- Zhang et al., Aliasing in downsampling: Making Convolutional Networks Shift-Invariant Again, 2019
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.shrinking import Shrinking
from stethoscope.run import Fix, Level
from stethoscope.signals.validation_path import Yardstick

RULE = Rule(code="COD102", since="0.1", severity=Severity.CRITICAL, subject=Subject.SOURCE)

UNSEEN_STRENGTH = 0.7  # the target is shrunk by name, but where it is measured was not seen
CROP_STRENGTH = 0.6  # a crop keeps the pixels as they are; it only looks at fewer


def examine(yardstick: Yardstick) -> Iterator[Finding]:
    """Report each step that shrinks what validation compares."""
    for shrinking in yardstick.path.shrinkings:
        is_crop = shrinking.kind == "crop"
        places = (shrinking.where, shrinking.compared_at)
        yield Finding(
            where=tuple(dict.fromkeys(place for place in places if place is not None)),
            message=_message(shrinking),
            evidence=_evidence(shrinking),
            strength=_strength(shrinking),
            severity=Severity.WARNING if is_crop else None,
            fix=_fix(shrinking),
        )


def _fix(shrinking: Shrinking) -> Fix | None:
    return Fix("validate at full size", Level.SAFE, shrinking.fixes) if shrinking.fixes else None


def _strength(shrinking: Shrinking) -> float:
    if shrinking.kind == "crop":
        return CROP_STRENGTH
    return 1.0 if shrinking.compared_at is not None else UNSEEN_STRENGTH


def _message(shrinking: Shrinking) -> str:
    if shrinking.kind == "crop":
        return f"{shrinking.function} crops the target to {shrinking.longest} px before it is measured"
    how = "" if shrinking.smooth else " without antialiasing"
    fed = f" (the input to {shrinking.input_longest} px)" if shrinking.input_longest else ""
    return f"{shrinking.function} shrinks the target {_how_far(shrinking)}{how}{fed} before it is measured"


def _how_far(shrinking: Shrinking) -> str:
    if shrinking.longest is None:
        return f"to {math.sqrt(shrinking.share):.0%} of its size"
    return f"to at most {shrinking.longest} px" if shrinking.conditional else f"to {shrinking.longest} px"


def _evidence(shrinking: Shrinking) -> dict[str, object]:
    return {
        "kind": shrinking.kind,
        "call": shrinking.call,
        "share_of_area": round(shrinking.share, 4),
        "conditional": shrinking.conditional,
        "antialias": shrinking.smooth,
    }
