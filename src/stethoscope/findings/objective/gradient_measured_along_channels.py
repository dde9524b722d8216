"""The size of a gradient of pictures is measured along their channels only.

## What it checks
Norms of a gradient (`torch.autograd.grad`) inside what is minimised: whether the gradient of a batch of
pictures, as told by weights of four axes that mix them, is measured along axis 1 without being made flat.

## Why it matters
The penalty asks for a gradient of size one for each picture. Measured at each pixel it asks for a gradient of
the size of the root of all pixels: the critic is made much steeper than meant, and the two do not balance.

## When it is harmless
Gradients that are made flat first, or measured along all axes, are what is meant; samples that are vectors
have no other axis.

## References
- Gulrajani et al., Improved Training of Wasserstein GANs, 2017, section 4
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.gradient_penalties import partial_norms
from stethoscope.signals.gradient_penalties import GradientPenalties

RULE = Rule(code="OBJ532", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(penalties: GradientPenalties) -> Iterator[Finding]:
    """Report each norm that leaves the places of a picture apart."""
    for one in partial_norms(penalties.index, penalties.settings):
        yield Finding(
            (one.site.where, one.gradient.where),
            "the norm of this gradient of pictures is taken along axis 1: for each pixel, not each picture",
            evidence={"norm": " ".join(one.site.text.split())[:120]},
        )
