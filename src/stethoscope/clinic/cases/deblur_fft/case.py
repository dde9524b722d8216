"""The patient deblur-fft as it was recorded: bfloat16 on a CPU, in sessions that forget the optimizer.

The write-up about its origin blames half precision. Nothing overflows here: what it proposes is tried on
numbers as the origin had them, with transforms in float32. deblur-fft-overflow is a training that overflows.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.cases.deblur_fft.cure import (
    CHECKPOINT_IMPORTS,
    CHECKPOINT_IS_WEIGHTS_ONLY,
    FFT_LOSS_GROWS_WITH_THE_IMAGE,
    FFT_WEIGHT,
    LAST_EPOCH_IS_KEPT,
    NORM_IN_HALF,
    PROJECT,
    RESUME_RESTORES_WEIGHTS_ONLY,
    SOURCES,
    TRAIN_IMPORTS,
)
from stethoscope.clinic.edit import Edit

ARCH, LOSSES, TRAINING = "deblur/arch.py", "deblur/losses.py", "deblur/training.py"
SETTINGS, DATASET, MODEL = (
    "configs/train/default.yaml",
    "configs/dataset/drawn.yaml",
    "configs/model/fft_mini.yaml",
)

# Cures

FULL_RESUME = Change(
    name="full-resume",
    title="Keep and restore the optimizer, the schedule and the best score",
    role=Role.CURE,
    edits=(
        CHECKPOINT_IS_WEIGHTS_ONLY,
        CHECKPOINT_IMPORTS,
        LAST_EPOCH_IS_KEPT,
        RESUME_RESTORES_WEIGHTS_ONLY,
        TRAIN_IMPORTS,
    ),
    predicted=("necessary", "sufficient", "helpful"),
)

NORM_IN_FLOAT = Change(
    name="norm-in-float",
    title="Compute the hand-written norm in float32",
    role=Role.CURE,
    edits=(NORM_IN_HALF,),
    predicted=("no effect",),
)

ORTHONORMAL_LOSS = Change(
    name="orthonormal-loss",
    title="Let the size of the frequency loss not depend on the size of the image",
    role=Role.CURE,
    edits=(FFT_LOSS_GROWS_WITH_THE_IMAGE, FFT_WEIGHT),
    predicted=("no effect", "changes the yardstick"),
    yardstick=True,
)

# What the write-up proposes. Its learning rate is a tenth of this patient's; it is lowered in proportion.

FIFTH_OF_THE_RATE = Edit(
    SETTINGS, "lr: 0.01\nweight_decay", "lr: 0.002\nweight_decay", "a fifth, for stability"
)
TENTH_OF_THE_RATE = Edit(
    SETTINGS, "lr: 0.01\nweight_decay", "lr: 0.001\nweight_decay", "if it is still unstable"
)

SKIPS_BAD_INPUTS = Edit(
    TRAINING,
    """\
            self.optimizer.zero_grad(set_to_none=True)
""",
    """\
            if not torch.isfinite(blurred).all():
                logger.error("NaN/Inf detected in input images, skipping batch")
                continue
            self.optimizer.zero_grad(set_to_none=True)
""",
    "inputs are checked before the forward pass",
)
SKIPS_BAD_LOSSES = Edit(
    TRAINING,
    """\
            self.scaler.scale(loss).backward()
""",
    """\
            if not torch.isfinite(loss):
                logger.error("Non-finite loss detected: %s, skipping batch", loss.item())
                continue
            self.scaler.scale(loss).backward()
""",
    "a batch whose loss is not finite is skipped",
)
NOTHING_TO_AVERAGE = Edit(
    TRAINING,
    """\
    return float(torch.stack(values).mean())
""",
    """\
    return float(torch.stack(values).mean()) if values else math.nan
""",
    "an epoch may have skipped every batch",
)

WARNS_ABOUT_THE_SCALE = Edit(
    TRAINING,
    """\
            self.scaler.update()
""",
    """\
            self.scaler.update()
            current_scale = self.scaler.get_scale()
            if current_scale < 16384:
                logger.warning("AMP scaler dropping: %.0f (normal: 65536)", current_scale)
                if current_scale < 1024:
                    logger.error("Scaler critically low: %.0f", current_scale)
""",
    "warnings below a scale that is called normal",
)

DIVIDES_THE_SPECTRUM = Edit(
    LOSSES,
    """\
        return F.l1_loss(torch.view_as_real(pred_fft), torch.view_as_real(target_fft))
""",
    """\
        norm_factor = pred.size(-2) * pred.size(-1)
        pred_fft = pred_fft / norm_factor
        target_fft = target_fft / norm_factor
        return F.l1_loss(torch.view_as_real(pred_fft), torch.view_as_real(target_fft))
""",
    "divides the frequency term by the number of pixels, which leaves nothing of it",
)

LARGER_EPSILON = Edit(ARCH, "variance + 1e-5", "variance + 1e-4", "an epsilon that is called safer")

FLOAT_BEFORE = (
    Edit(
        ARCH,
        """\
        x_patch = to_patches(x, self.patch_size)
        x_patch_fft = torch.fft.rfft2(x_patch.float())
""",
        """\
        x_patch = to_patches(x, self.patch_size).float()
        with torch.amp.autocast(device_type=x.device.type, enabled=False):
            x_patch_fft = torch.fft.rfft2(x_patch)
""",
        "converts before the transform what was converted in its call",
    ),
    Edit(
        ARCH,
        """\
        q_fft = torch.fft.rfft2(to_patches(q, self.patch_size).float())
        k_fft = torch.fft.rfft2(to_patches(k, self.patch_size).float())
""",
        """\
        q, k = q.float(), k.float()
        with torch.amp.autocast(device_type=x.device.type, enabled=False):
            q_fft = torch.fft.rfft2(to_patches(q, self.patch_size))
            k_fft = torch.fft.rfft2(to_patches(k, self.patch_size))
""",
        "the same",
    ),
)

IN_FULL_PRECISION = (
    Edit(
        TRAINING,
        """\
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                loss =""",
        """\
            with torch.amp.autocast(device_type=self.device.type, enabled=False):
                outputs = self.model(blurred)
                loss =""",
        "mixed precision is off",
    ),
    Edit(
        TRAINING,
        """\
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                losses""",
        """\
            with torch.amp.autocast(device_type=self.device.type, enabled=False):
                outputs = self.model(blurred)
                losses""",
        "in validation, too",
    ),
    Edit(
        TRAINING,
        "        self.scaler = torch.amp.GradScaler(device.type)\n",
        "        self.scaler = torch.amp.GradScaler(device.type, enabled=False)\n",
        "there is nothing to scale",
    ),
)

# Written in the source, so that they halve a network of any size.
HALF_THE_BLOCKS = Edit(
    ARCH, "for _ in range(num_blocks))", "for _ in range(num_blocks // 2))", "half the blocks"
)
HALF_THE_CHANNELS = Edit(
    ARCH,
    "        self.enter = nn.Conv2d(3, dim, 3, padding=1)\n",
    "        dim = dim // 2\n        self.enter = nn.Conv2d(3, dim, 3, padding=1)\n",
    "half the channels",
)

LOWER_RATE = Change(
    "lower-learning-rate",
    "Take a fifth of the learning rate",
    Role.ADVICE,
    (FIFTH_OF_THE_RATE,),
    ("004.2", "004.5"),
    ("no effect", "harmful"),
)
EVEN_LOWER_RATE = Change(
    "even-lower-learning-rate",
    "Take a tenth of the learning rate",
    Role.ADVICE,
    (TENTH_OF_THE_RATE,),
    ("004.5",),
    ("no effect", "harmful"),
)
SKIP = Change(
    "skip-bad-batches",
    "Skip a batch whose input or loss is not finite",
    Role.ADVICE,
    (SKIPS_BAD_INPUTS, SKIPS_BAD_LOSSES, NOTHING_TO_AVERAGE),
    ("004.6",),
    ("no effect",),
)
WARN = Change(
    "warn-about-the-scale",
    "Warn when the loss scale is below 16384",
    Role.ADVICE,
    (WARNS_ABOUT_THE_SCALE,),
    ("004.7",),
    ("no effect",),
)
DIVIDE = Change(
    "divide-the-frequency-loss",
    "Divide the frequency loss by the number of pixels",
    Role.ADVICE,
    (DIVIDES_THE_SPECTRUM,),
    ("004.9",),
    ("no effect", "helpful", "harmful", "changes the yardstick"),
    yardstick=True,
)
EPSILON = Change(
    "larger-epsilon",
    "Raise the epsilon of the norm from 1e-5 to 1e-4",
    Role.ADVICE,
    (LARGER_EPSILON,),
    ("004.10",),
    ("no effect",),
)
NO_MIXED_PRECISION = Change(
    "no-mixed-precision",
    "Train in float32",
    Role.ADVICE,
    IN_FULL_PRECISION,
    ("004.12",),
    ("no effect",),
)
FEWER_BLOCKS = Change(
    "fewer-blocks",
    "Halve the number of blocks",
    Role.ADVICE,
    (HALF_THE_BLOCKS,),
    ("004",),
    ("no effect", "harmful", "helpful"),
)
FEWER_CHANNELS = Change(
    "fewer-channels",
    "Halve the number of channels",
    Role.ADVICE,
    (HALF_THE_CHANNELS,),
    ("004",),
    ("no effect", "harmful", "helpful"),
)
SIMPLER_TRANSFORM = Change(
    "simpler-transform",
    'Cannot be applied: "simplify FFT operations" does not say which, or how',
    Role.ADVICE,
    (),
    ("004",),
    ("cannot be applied",),
)

ADVICE = (
    LOWER_RATE,
    EVEN_LOWER_RATE,
    SKIP,
    WARN,
    DIVIDE,
    EPSILON,
    Change(
        "float-before-the-transform",
        "Convert to float32 before the transform instead of in its call",
        Role.ADVICE,
        FLOAT_BEFORE,
        ("004.11",),
        ("no effect",),
    ),
    NO_MIXED_PRECISION,
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
            *FLOAT_BEFORE,
        ),
        ("004.13",),
        ("no effect", "harmful"),
        yardstick=True,
    ),
)

# What cannot act.

PLACEBOS = (
    Change(
        "other-name",
        "Call the model by another name",
        Role.PLACEBO,
        (Edit(MODEL, "name: fft_mini", "name: fft_small", "a name is only logged"),),
        predicted=("no effect",),
    ),
    Change(
        "longer-messages",
        "Log the number of parameters in other words",
        Role.PLACEBO,
        (
            Edit(
                "train.py",
                '"Model %s has %d parameters"',
                '"The model %s has %d parameters"',
                "a log is only read",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "earlier-warning",
        "Warn when the scale is below 2 instead of 1",
        Role.PLACEBO,
        (Edit(TRAINING, "get_scale() < 1:", "get_scale() < 2:", "a warning changes nothing"),),
        predicted=("no effect",),
    ),
)

ON_A_CPU = Edit("configs/config.yaml", "device: cuda", "device: cpu", "a machine without a GPU")


def dataset(old: str, to: str, why: str) -> Edit:
    """A line of the settings of the data replaced by another."""
    return Edit(DATASET, f"{old}\n", f"{to}\n", why)


def training(old: str, to: str, why: str) -> Edit:
    """A line of the settings of the training replaced by another."""
    return Edit(SETTINGS, f"{old}\n", f"{to}\n", why)


SMALLER_DATA = (
    dataset("train_images: 64", "train_images: 4", "quickly drawn"),
    dataset("val_images: 8", "val_images: 2", "quickly validated"),
    dataset("crops_per_epoch: 256", "crops_per_epoch: 16", "four steps an epoch"),
    training("batch_size: 8", "batch_size: 4", "quick steps"),
)
LARGER_DATA = (
    dataset("image_size: 64", "image_size: 256", "as large as photographs are cropped"),
    dataset("crop_size: 32", "crop_size: 128", "the origin's crops"),
    dataset("crops_per_epoch: 256", "crops_per_epoch: 1024", "128 steps an epoch"),
)
LARGER_NETWORK = (
    Edit(MODEL, "  dim: 12\n", "  dim: 24\n", "a larger network"),
    Edit(MODEL, "  num_blocks: 2\n", "  num_blocks: 4\n", "a larger network"),
)

SIZES = (
    Size(
        "ci",
        (
            ON_A_CPU,
            *SMALLER_DATA,
            training("epochs: 16", "epochs: 2", "one for each session"),
            training("warmup_epochs: 2", "warmup_epochs: 1", "half of the run"),
            training("session_epochs: 0", "session_epochs: 1", "as on a cluster that limits a job's time"),
        ),
        seconds=10.0,
    ),
    Size(
        "small",
        (
            ON_A_CPU,
            dataset("crops_per_epoch: 256", "crops_per_epoch: 128", "half an epoch"),
            training("batch_size: 8", "batch_size: 4", "32 steps an epoch"),
            training("epochs: 16", "epochs: 8", "four sessions of two epochs"),
            training("session_epochs: 0", "session_epochs: 2", "as on a cluster that limits a job's time"),
        ),
        seconds=40.0,
    ),
    Size(
        "gpu",
        (
            *LARGER_DATA,
            *LARGER_NETWORK,
            training("session_epochs: 0", "session_epochs: 4", "as on a cluster that limits a job's time"),
        ),
        seconds=180.0,
    ),
)

# The sick project goes on from the weights of its best epoch, the cured one from everything of its last.
# Without braces, but for the seed.
COMMAND = """
run="python -W ignore train.py hydra.run.dir=outputs/run seed={seed}"
kept=outputs/run/checkpoints
$run
while ! grep -q "Training finished at epoch \\([0-9]*\\) of \\1$" outputs/run/train.log; do
    if [ -f $kept/last.pt ]; then
        $run train.last_checkpoint=$kept/last.pt
    else
        best=$(ls $kept | sort -V | tail -n 1)
        epoch=$(echo $best | tr -dc 0-9)
        $run train.last_checkpoint=$kept/$best train.start_epoch=$((epoch + 1))
    fi
done
"""

METRIC = Metric("val_psnr", goal="max", unit="dB", bar=23.49)  # the blurred images themselves

CASE = Case(
    name="deblur-fft",
    title="A training that forgets its optimizer at every resume",
    story=(
        "Motion deblurring with a frequency-domain transformer, in sessions. The write-up about the run "
        "it follows finds a death spiral of the loss scaler and changes the learning rate, an epsilon, a "
        "transform and a loss. On a CPU autocast is bfloat16, where nothing can overflow: what is left of "
        "the sickness is a resume that restores the weights alone, and a frequency loss that grows with "
        "the image."
    ),
    project=PROJECT,
    sources=(*SOURCES, "judge.py"),
    command=COMMAND,
    run="outputs/run",
    evaluate="python judge.py {run}",
    needs=("torch", "hydra"),
    metric=METRIC,
    changes=(FULL_RESUME, NORM_IN_FLOAT, ORTHONORMAL_LOSS, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "the learning rate is ten times the origin's, because at the origin's the resume costs nothing",
        "every session ends after a quarter of the epochs",
    ),
)
