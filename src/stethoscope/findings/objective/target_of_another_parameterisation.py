"""A denoised output is regressed on a target that has noise in it.

## What it checks
Networks that join their noisy input with a scaled prediction of their own (`c_skip * x + c_out * F(x)`)
return the input without its noise. The rule looks at what such an output is compared with in the loss: the
clean data, or something that is made from the noise, such as a velocity or the noise itself. A raw output is
compared with what the sampling code takes it for: `eps = model(x, t)`, or a scheduler's `prediction_type`. A
velocity, the difference of data and noise, is compared with the way in which the sampler walks along it.
Where the data or the noise is solved out of input and output, the target is put in the place of the output:
the formula must give the one without any of the other.

## Why it matters
Velocity, noise and clean data are different things, and each needs its own output. Held to the wrong one, the
inner network must undo the preconditioning, by factors that grow without bound at small noise. The loss falls
at first, is heavy-tailed, and the samples are never right.

## When it is harmless
A raw network without preconditioning may be held to any of the three. A residual block, `x + body(x)` without
scales, is not a denoiser. A target that is data alone fits a denoised output.

## References
- Karras et al., Elucidating the Design Space of Diffusion-Based Generative Models, 2022
- Salimans and Ho, Progressive Distillation for Fast Sampling of Diffusion Models, 2022
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.denoised_target import towards_the_data
from stethoscope.program.objective.denoising import HeldTo
from stethoscope.program.objective.sampling import Meaning
from stethoscope.run import Fix, Level
from stethoscope.signals.denoising import DenoisingObjective

RULE = Rule(code="OBJ106", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(objective: DenoisingObjective) -> Iterator[Finding]:
    """Report each denoised output whose target is made from noise."""
    for held in objective.seen.held:
        if not held.target_is_clean:
            yield Finding(
                where=(held.compared.where, held.output.where),
                message=f"{held.network} returns a denoised output, and the target has noise in it: "
                f"{held.target}",
                evidence={"output": held.output.text, "target": held.target},
                proof="an output that joins the noisy input with a scaled prediction estimates the data",
                fix=_fix(held),
            )
    for misread in objective.seen.misread:
        in_place = misread.is_solved or misread.reading.where == misread.compared.where
        taken = "its output is scaled to" if in_place else "sampling takes its output for"
        yield Finding(
            where=tuple(dict.fromkeys((misread.compared.where, misread.reading.where))),
            message=f"the network is trained to return {misread.trained}, and {taken} {misread.read}",
            evidence={"objective": misread.compared.text, "sampler": misread.reading.text},
        )
    for estimate in objective.seen.unsolved:
        left = "noise" if estimate.meaning is Meaning.CLEAN else "data"
        yield Finding(
            where=tuple(
                dict.fromkeys((estimate.estimate.where, estimate.target.where, estimate.compared.where))
            ),
            message=f"this is taken for {estimate.meaning}, and has {left} left in it: "
            f"the network is trained to return {' '.join(estimate.target.text.split())[:60]}",
            evidence={"estimate": estimate.estimate.text, "objective": estimate.compared.text},
            proof="with the target in the place of the output the formula does not give what it should",
        )
    for one in objective.seen.against:
        way = "from the data to the noise" if one.is_to_noise else "from the noise to the data"
        walk = "along" if one.is_to_noise else "against"
        yield Finding(
            where=tuple(dict.fromkeys((one.target.where, one.step.where, one.compared.where))),
            message=f"the velocity is trained to point {way}, and sampling walks {walk} it from the noise",
            evidence={"target": one.target.text, "step": one.step.text},
        )


def _fix(held: HeldTo) -> Fix | None:
    splices = towards_the_data(held.compared, held.target)
    return Fix("regress the output on the data it estimates", Level.UNSAFE, splices) if splices else None
