"""The network's output and its target speak of different things.

## How it works
A preconditioned denoiser returns the input without its noise; a raw network may return noise, velocity or
data. Where output and target differ in kind, the inner network must undo the preconditioning, by factors
that explode at small noise.

## How to tell it from its look-alikes
A heavy-tailed loss alone comes from the noise levels; here the loss at small noise is worse than that of
predicting zeros, however long one trains.

## What cures it
Compare a denoised output with the clean data, weighted by the noise, or take the preconditioning away.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, Cause, Evidence
from stethoscope.findings import Finding


def _is_of_form(finding: Finding) -> bool:
    return finding.evidence.get("miss") not in {"level", "start"}


CAUSE = Cause(
    title="Output and target are of different parameterisations",
    prior=RARE,
    evidence=(
        Evidence(
            "sampler-misses-its-data",
            DECISIVE,
            "what is learned is not what the sampler takes it for",
            when=_is_of_form,
        ),
        Evidence(
            "target-of-another-parameterisation", DECISIVE, "a denoised output is held to a noisy target"
        ),
        Evidence("scalings-do-not-fit", DECISIVE, "one scaling of the denoiser is not what the others need"),
        Evidence("output-in-another-form", DECISIVE, "a spread or a box is taken for another form of it"),
    ),
    confirm_by="compute the loss per noise level: at small noise it exceeds that of predicting zeros",
    shows=("divergence", "loss-plateau", "below-trivial-baseline", "validation-left-behind"),
)
