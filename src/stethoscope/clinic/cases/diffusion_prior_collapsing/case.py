"""The patient diffusion-prior-collapsing: a loss that leaps, at once or after it has fallen, and stays there.

It is diffusion-prior at a higher learning rate. Its yardstick is what the network has learned, in whichever
way its output is read: a collapsed network returns its input, and taken for a tile that is better than a
velocity.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Metric
from stethoscope.clinic.cases.diffusion_prior import case as diffusion_prior
from stethoscope.clinic.cases.diffusion_prior.cure import PROJECT, SOURCES

LAUNCHER = "run_diverging.sh"
# Those of the write-up's proposals that are about stability, and some that cannot act.
PROPOSED = ("batch-16", "rate-by-ten", "smaller-network", "best-checkpoint", "option-b", "option-c")
PLACEBOS = ("comment", "clip-setting", "other-start")

_advice = diffusion_prior.advice(LAUNCHER, "7e-3", "7e-4", "3.5e-3")
_placebos = diffusion_prior.placebos(LAUNCHER)

CASE = Case(
    name="diffusion-prior-collapsing",
    title="A denoiser that collapses at a high learning rate",
    story=(
        "The loss leaps up in a few steps and stays where it began: the network returns its input and does "
        "not learn again. With most seeds this happens early, with some after the loss has fallen for half "
        "of the run, and then the best checkpoint lies in the middle. Clipping, warm-up and decay are asked "
        "for by the launcher and never happen."
    ),
    project=PROJECT,
    sources=(*SOURCES, LAUNCHER, "judge.py"),
    command=diffusion_prior.command(LAUNCHER),
    run=diffusion_prior.CASE.run,
    evaluate=diffusion_prior.CASE.evaluate,
    metric=Metric("psnr_learned", "max", "dB", bar=diffusion_prior.NOISY_PSNR),
    changes=(
        *diffusion_prior.CURES,
        *(change for change in _advice if change.name in PROPOSED),
        *(change for change in _placebos if change.name in PLACEBOS),
    ),
    sizes=diffusion_prior.sizes(LAUNCHER, 1600, 48),
    exaggerated=(
        "1,600 steps instead of 90,000, at a learning rate of 7e-3, seventy times the origin's",
        *diffusion_prior.CASE.exaggerated[1:],
    ),
    needs=diffusion_prior.CASE.needs,
)
