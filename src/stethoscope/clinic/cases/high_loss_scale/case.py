"""A benign case: the loss scale climbs far above where it began, because the gradients are small.

It is deblur-fft in float16, with its transforms in float32 and its frequency loss normalised.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Role, Size
from stethoscope.clinic.cases.deblur_fft.case import (
    LARGER_DATA,
    LARGER_NETWORK,
    METRIC,
    ON_A_CPU,
    PLACEBOS,
    SMALLER_DATA,
    TRAINING,
    dataset,
    training,
)
from stethoscope.clinic.cases.deblur_fft.cure import (
    FFT_LOSS_GROWS_WITH_THE_IMAGE,
    NORM_IN_HALF,
    PROJECT,
    SOURCES,
    STEP_IN_HALF,
    VALIDATION_IN_HALF,
)
from stethoscope.clinic.cases.deblur_fft_overflow.case import EMULATION, LOGGED_SCALE
from stethoscope.clinic.edit import Edit

SCALER = "        self.scaler = torch.amp.GradScaler(device.type, growth_interval=20)\n"

HEALTHY = (
    *EMULATION,
    *LOGGED_SCALE,
    NORM_IN_HALF,
    FFT_LOSS_GROWS_WITH_THE_IMAGE,
    Edit(
        TRAINING,
        "        self.scaler = torch.amp.GradScaler(device.type)\n",
        SCALER,
        "a short run grows its scale a hundred times as often as the usual 2,000 steps allow",
    ),
)


def _scaler(arguments: str, why: str) -> Edit:
    return Edit(
        TRAINING, SCALER, f"        self.scaler = torch.amp.GradScaler(device.type, {arguments})\n", why
    )


CASE = Case(
    name="high-loss-scale",
    title="A loss scale that is high because the gradients are small",
    story=(
        "Motion deblurring in float16 with nothing that overflows. The scaler doubles its scale whenever "
        "a number of steps were clean, until a gradient comes near 65504, halves it once, and climbs "
        "again. A high scale says that the gradients are small. Whatever the scale is held at, the images "
        "come out the same."
    ),
    project=PROJECT,
    sources=(*SOURCES, "half.py", "judge.py"),
    command="python -W ignore train.py hydra.run.dir=outputs/run seed={seed}",
    run="outputs/run",
    evaluate="python judge.py {run}",
    needs=("torch", "hydra"),
    metric=METRIC,
    changes=(
        Change(
            "scale-held-at-1024",
            "Hold the scale at 1024, in the range that is called normal",
            Role.ADVICE,
            (_scaler("init_scale=1024.0, growth_interval=10**9", "no growth"),),
            ("000.4",),
            ("no effect",),
        ),
        Change(
            "scale-held-at-65536",
            "Hold the scale where it began",
            Role.ADVICE,
            (_scaler("growth_interval=10**9", "no growth"),),
            ("004.8",),
            ("no effect",),
        ),
        Change(
            "bfloat16",
            "Train in bfloat16 without a scaler",
            Role.ADVICE,
            (STEP_IN_HALF, VALIDATION_IN_HALF, _scaler("enabled=False", "there is nothing to scale")),
            ("004.12",),
            ("no effect",),
        ),
        *PLACEBOS,
    ),
    sizes=(
        Size(
            "ci",
            (
                *HEALTHY,
                ON_A_CPU,
                *SMALLER_DATA,
            ),
            seconds=7.0,
        ),
        Size(
            "small",
            (
                *HEALTHY,
                ON_A_CPU,
                dataset("crops_per_epoch: 256", "crops_per_epoch: 128", "half an epoch"),
                training("batch_size: 8", "batch_size: 4", "32 steps an epoch"),
                training("epochs: 16", "epochs: 8", "enough to beat the blurred images"),
            ),
            seconds=20.0,
        ),
        Size("gpu", (*HEALTHY, *LARGER_DATA, *LARGER_NETWORK), seconds=120.0),  # an estimate
    ),
    exaggerated=(
        "the scale may grow every 20 steps instead of every 2,000",
        "on a CPU half precision is emulated (half.py of deblur-fft)",
    ),
    benign=True,
)
