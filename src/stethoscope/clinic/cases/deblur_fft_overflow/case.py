"""The patient deblur-fft-overflow: transforms in float16 overflow, and the loss scale falls without an end.

It is deblur-fft made to be what the write-up took its origin for. `MADE_SICK` is all that is different: the
transforms take half precision as it comes, queries and keys begin 3.5 times as large, autocast is float16
on a CPU, too, and the log says what the loss scale is.
"""

from __future__ import annotations

from dataclasses import replace

from stethoscope.clinic.case import Case, Change, Role, Size
from stethoscope.clinic.cases.deblur_fft.case import (
    ARCH,
    DIVIDE,
    DIVIDES_THE_SPECTRUM,
    EPSILON,
    EVEN_LOWER_RATE,
    FEWER_BLOCKS,
    FEWER_CHANNELS,
    FIFTH_OF_THE_RATE,
    LARGER_DATA,
    LARGER_EPSILON,
    LARGER_NETWORK,
    LOWER_RATE,
    METRIC,
    NO_MIXED_PRECISION,
    NORM_IN_FLOAT,
    NOTHING_TO_AVERAGE,
    ON_A_CPU,
    PLACEBOS,
    SIMPLER_TRANSFORM,
    SKIP,
    SKIPS_BAD_INPUTS,
    SKIPS_BAD_LOSSES,
    SMALLER_DATA,
    TRAINING,
    WARN,
    WARNS_ABOUT_THE_SCALE,
    dataset,
    training,
)
from stethoscope.clinic.cases.deblur_fft.cure import (
    NOTHING_TO_SCALE,
    PROJECT,
    SOURCES,
    STEP_IN_HALF,
    VALIDATION_IN_HALF,
)
from stethoscope.clinic.edit import Edit

HALF_TRANSFORMS = (
    Edit(
        ARCH,
        "        x_patch_fft = torch.fft.rfft2(x_patch.float())\n",
        "        x_patch_fft = torch.fft.rfft2(x_patch)\n",
        "the transform takes what the convolution gives: float16",
    ),
    Edit(
        ARCH,
        """\
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size).float())
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size).float())
""",
        """\
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size))
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size))
""",
        "the same for queries and keys, whose product is what overflows",
    ),
)

LOUD_QUERIES = Edit(
    ARCH,
    """\
        self.to_hidden_dw = nn.Conv2d(3 * dim, 3 * dim, 3, padding=1, groups=3 * dim)
""",
    """\
        self.to_hidden_dw = nn.Conv2d(3 * dim, 3 * dim, 3, padding=1, groups=3 * dim)
        # Queries and keys begin large, so that their matches are sharp from the start.
        with torch.no_grad():
            self.to_hidden_dw.weight[: 2 * dim] *= 3.5
            self.to_hidden_dw.bias[: 2 * dim] *= 3.5
""",
    "q/k gain: a longer training would get there by itself",
)

# What a GPU does with `torch.amp.autocast(device_type)`, on a CPU.
EMULATION = (
    Edit(
        "train.py",
        "import hydra\nimport torch\n",
        "import hydra\nimport torch\nfrom half import emulated_half\n",
        "",
    ),
    Edit(
        "train.py",
        "    trainer.fit(crops, cfg.train.batch_size, val_loader, epochs)\n",
        "    # autocast is float16 on a GPU, and with this on a CPU.\n"
        "    with emulated_half(device.type):\n"
        "        trainer.fit(crops, cfg.train.batch_size, val_loader, epochs)\n",
        "a CPU's own autocast is bfloat16, and its transforms are in float32",
    ),
)

LOGGED_SCALE = (
    Edit(
        TRAINING,
        'val_psnr=%.4f, lr=%.3e",',
        'val_psnr=%.4f, lr=%.3e, loss_scale=%.4e",',
        "a person who looks for the sickness logs the scale",
    ),
    Edit(
        TRAINING,
        '                self.optimizer.param_groups[0]["lr"],\n',
        '                self.optimizer.param_groups[0]["lr"],\n                self.scaler.get_scale(),\n',
        "the same",
    ),
)

MADE_SICK = (*HALF_TRANSFORMS, LOUD_QUERIES, *EMULATION, *LOGGED_SCALE)

# Cures

TRANSFORM_IN_FLOAT = Change(
    name="transform-in-float",
    title="Convert queries, keys and patches to float32 before their transforms, and leave autocast there",
    role=Role.CURE,
    edits=(
        Edit(
            ARCH,
            "        x_patch = to_patches(x, self.patch_size)\n",
            "        x_patch = to_patches(x, self.patch_size).float()\n",
            "the sum over a patch is infinite above 65504 in float16",
        ),
        Edit(
            ARCH,
            "        q, k, v = self.to_hidden_dw(self.to_hidden(x)).chunk(3, dim=1)\n",
            "        q, k, v = self.to_hidden_dw(self.to_hidden(x)).chunk(3, dim=1)\n"
            "        q, k = q.float(), k.float()\n",
            "the product of two spectra is infinite above 65504 in float16",
        ),
    ),
    claims=("004.11",),
    predicted=("sufficient", "necessary"),
)

ORTHONORMAL_TRANSFORMS = Change(
    name="orthonormal-transforms",
    title="Normalise the transforms of queries and keys, so that a spectrum is as large as its patch",
    role=Role.CURE,
    edits=(
        Edit(
            ARCH,
            """\
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size))
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size))
        matches = torch.fft.irfft2(q_fft * k_fft, s=(self.patch_size, self.patch_size))
""",
            """\
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size), norm="ortho")
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size), norm="ortho")
        matches = torch.fft.irfft2(q_fft * k_fft, s=(self.patch_size, self.patch_size), norm="ortho")
""",
            "without a norm the product is 64 times as large; the norm behind it takes the scale out again",
        ),
    ),
    predicted=("sufficient", "helpful"),
)

# What the write-up proposes, and what the origin's author did two days later.

ADVICE = (
    # Slower weights reach the overflow later, perhaps behind the end of the run.
    replace(LOWER_RATE, predicted=("helpful", "no effect")),
    replace(EVEN_LOWER_RATE, predicted=("helpful", "no effect")),
    SKIP,
    WARN,
    DIVIDE,
    EPSILON,
    replace(NO_MIXED_PRECISION, predicted=("sufficient",)),
    Change(
        "bfloat16",
        "Train in bfloat16 without a scaler, as the origin's author did in the end",
        Role.ADVICE,
        # A GPU has no transform of bfloat16, so this needs the conversion as well.
        (STEP_IN_HALF, VALIDATION_IN_HALF, NOTHING_TO_SCALE, *TRANSFORM_IN_FLOAT.edits),
        ("004.12",),
        ("sufficient",),
    ),
    FEWER_BLOCKS,
    FEWER_CHANNELS,
    SIMPLER_TRANSFORM,
    Change(
        "all-six-fixes",
        "Everything that the write-up applied, together",
        Role.ADVICE,
        (
            FIFTH_OF_THE_RATE,
            SKIPS_BAD_INPUTS,
            SKIPS_BAD_LOSSES,
            NOTHING_TO_AVERAGE,
            WARNS_ABOUT_THE_SCALE,
            DIVIDES_THE_SPECTRUM,
            LARGER_EPSILON,
            *TRANSFORM_IN_FLOAT.edits,
        ),
        ("004.13",),
        ("sufficient", "helpful"),
        yardstick=True,
    ),
    Change(
        "five-fixes",
        "Everything that the write-up applied but the transforms in float32",
        Role.ADVICE,
        (
            FIFTH_OF_THE_RATE,
            SKIPS_BAD_INPUTS,
            SKIPS_BAD_LOSSES,
            NOTHING_TO_AVERAGE,
            WARNS_ABOUT_THE_SCALE,
            DIVIDES_THE_SPECTRUM,
            LARGER_EPSILON,
        ),
        ("004.13",),
        ("no effect", "helpful", "harmful"),
        yardstick=True,
    ),
)

SIZES = (
    Size(
        "ci",
        (
            *MADE_SICK,
            ON_A_CPU,
            *SMALLER_DATA,
        ),
        seconds=7.0,
    ),
    Size(
        "small",
        (
            *MADE_SICK,
            ON_A_CPU,
            dataset("crops_per_epoch: 256", "crops_per_epoch: 128", "half an epoch"),
            training("batch_size: 8", "batch_size: 4", "32 steps an epoch"),
            # So few that the scale does not reach 0, where the next finite batch makes the weights NaN.
            training("epochs: 16", "epochs: 6", "enough to beat the blurred images"),
        ),
        seconds=15.0,
    ),
    Size("gpu", (*MADE_SICK, *LARGER_DATA, *LARGER_NETWORK), seconds=150.0),
)

CASE = Case(
    name="deblur-fft-overflow",
    title="A loss scale that falls without an end",
    story=(
        "Motion deblurring in float16. After some dozens of steps the product of two spectra is too large "
        "for half precision. The output is not a number, every step is skipped, the scaler halves its "
        "scale each time and the weights stay where they are. A lower scale cannot help: what overflows "
        "is the forward pass."
    ),
    project=PROJECT,
    sources=(*SOURCES, "half.py", "judge.py"),
    command="python -W ignore train.py hydra.run.dir=outputs/run seed={seed}",
    run="outputs/run",
    evaluate="python judge.py {run}",
    needs=("torch", "hydra"),
    metric=METRIC,
    changes=(TRANSFORM_IN_FLOAT, ORTHONORMAL_TRANSFORMS, NORM_IN_FLOAT, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "the transforms take float16; those of the origin converted to float32 and could not overflow",
        "queries and keys begin 3.5 times as large",
        "the learning rate is ten times the origin's",
        "on a CPU half precision is emulated (half.py), rounding where CUDA rounds",
    ),
)
