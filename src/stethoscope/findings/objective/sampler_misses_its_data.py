"""A sampler does not arrive at the data, even with the best network its training could give.

## What it checks
Training of a denoiser, a diffusion or a flow, and the samplers beside it. Were all data one point, the best
answer of the network would be known from the formulas of its objective. With these answers in its place each
sampler is computed, from two starts and towards two points: where it ends has to follow from the point and
not from the start. Towards data with a spread the ends have to move as their mean does, and where nothing but
the start is drawn, to keep their spread; and the first level asked for has to be one of noise. Samplers are
asked with what the program asks them with, and flags stand at their defaults. The trial is made again with
the noise levels told the other way round, and with the output negated, to say which of them it is.

## Why it matters
The loss falls as it should, since the network learns just what it is asked for. What it is asked for is not
what the sampler takes it for, and what is drawn is noise or nothing.

## When it is harmless
A sampler that makes something else on purpose, such as one that starts from a picture or goes back to the
noise, is not rehearsed, and one of fewer than twenty passes is held to the points alone. Where a step cannot
be computed, or several networks are trained, nothing is said.

## References
- Ho et al., Denoising Diffusion Probabilistic Models, 2020, algorithms 1 and 2
- Lipman et al., Flow Matching for Generative Modeling, 2023
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.objective.rehearsed_samplers import Miss
from stethoscope.signals.lost_samplers import LostSamplers

RULE = Rule(code="OBJ811", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(samplers: LostSamplers) -> Iterator[Finding]:
    """Report each sampler that ends somewhere else."""
    for one in samplers.found:
        yield Finding(
            where=(one.site.where, one.compared.where),
            message=f"this sampler would miss the data with a perfect network: {one.miss}",
            evidence={
                "miss": one.miss.name.lower(),
                "level_is_turned": one.miss is Miss.LEVEL,
                "starts_late": one.miss is Miss.START,
            },
            strength=0.95,
        )
