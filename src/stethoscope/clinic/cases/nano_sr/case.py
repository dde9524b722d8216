"""nano-sr for the clinic: its sizes, its yardstick, and every change that was proposed or would cure it.

Settings in the write-ups belong to a run of 40,000 iterations; here they are the same fractions of 600, but
the warm-up, which the write-ups make four times and twice as long, and so it is here.

A change that the program refuses before its first step has the edits as they were proposed, and
`predicted=("cannot be applied",)`: the refusal is seen by running it.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.cases.nano_sr.cure import (
    PROJECT,
    SIMILARITY_IS_MINIMISED,
    SOURCES,
    VALIDATION_SHRINKS,
)
from stethoscope.clinic.edit import Edit

SHORT = "options/nano_sr_short.yml"
MODEL = "nanosr/model.py"

# Bicubic enlargement of the images that judge.py measures on.
BICUBIC_PSNR = 26.34


# --- what cures it ------------------------------------------------------------------------------------

CURES = (
    Change(
        "similarity-as-loss",
        "Subtract the similarity from one, so that less of it costs more",
        Role.CURE,
        (SIMILARITY_IS_MINIMISED,),
        predicted=("necessary", "sufficient"),
    ),
    Change(
        "validation-at-full-size",
        "Validate whole images instead of images reduced to 64 pixels",
        Role.CURE,
        (VALIDATION_SHRINKS,),
        predicted=("changes the yardstick",),
        yardstick=True,
    ),
)

# --- what was proposed --------------------------------------------------------------------------------

NO_DYNAMIC_LOSS = Edit(SHORT, "    enabled: true\n", "    enabled: false\n", "disable temporarily")
BF16 = Edit(SHORT, "amp_bf16: false", "amp_bf16: true", "better precision prevents explosions")
COSINE = Edit(
    SHORT,
    "    type: MultiStepLR\n    milestones: [300, 450]\n    gamma: 0.5\n",
    "    type: CosineAnnealingLR\n    T_max: 600\n    eta_min: !!float 1e-6\n",
    "smoother decay",
)
WARMUP_X4 = Edit(SHORT, "warmup_iter: 24", "warmup_iter: 96", "longer warmup for stability")
WARMUP_X2 = Edit(SHORT, "warmup_iter: 24", "warmup_iter: 48", "longer warmup")
CLIP_KEY = Edit(
    SHORT,
    "  grad_clip: true\n",
    "  grad_clip: true\n  grad_clip_max_norm: 1.0\n",
    "prevent gradient explosion",
)
CLIP_AGAIN = Edit(
    SHORT, "  grad_clip: true\n", "  grad_clip: true  # clip_grad_norm_(..., 1.0)\n", "the correct key"
)
FROM_THE_PEAK = Edit(
    SHORT,
    "resume_state: ~",
    "resume_state: experiments/nano_sr/training_states/30.state",
    "resume from the best checkpoint, which was never saved",
)
MOMENTUM = Edit(SHORT, "momentum: 0.95 ", "momentum: 0.9 ", "more responsive")
ADAPTATION_RATE = Edit(SHORT, "adaptation_rate: 0.005", "adaptation_rate: 0.01", "standard rate")
MAX_WEIGHT = Edit(SHORT, "max_weight: 100.0", "max_weight: 10.0", "too high, causes instability")
BASELINE = Edit(SHORT, "baseline_iterations: 24", "baseline_iterations: 12", "shorter baseline")
LATER_MILESTONES = Edit(
    SHORT, "milestones: [300, 450]", "milestones: [450, 525]", "later milestones for EMA stability"
)
MIN_WEIGHT_AS_WRITTEN = Edit(
    SHORT, "min_weight: !!float 1e-6", "min_weight: 1e-6", "as the proposed file has it: YAML reads text"
)
NO_AVERAGE = Edit(SHORT, "ema_decay: 0.999", "ema_decay: 0.0", "the average over-smooths")
SCALE_AT_4096 = Edit(
    MODEL,
    "            growth_interval=opt.train.amp_growth_interval,\n",
    "            init_scale=4096.0,\n            growth_interval=1_000_000,\n",
    "the normal range is 1e3 to 1e4",
)
MULTI_SCALE = Edit(SHORT, "type: ssimloss", "type: mssimloss", "what the author's later settings have")

ADVICE = (
    Change(
        "no-dynamic-loss",
        "Disable dynamic loss scheduling",
        Role.ADVICE,
        (NO_DYNAMIC_LOSS,),
        claims=("000.12", "000.13"),
        predicted=("no effect",),
    ),
    Change(
        "bf16",
        "bfloat16 instead of float16",
        Role.ADVICE,
        (BF16,),
        claims=("000.9", "000.14", "001.9", "001.10"),
        predicted=("no effect",),
    ),
    Change(
        "scale-at-4096",
        "Hold the loss scale inside 1e3 to 1e4",
        Role.ADVICE,
        (SCALE_AT_4096,),
        claims=("000.3", "000.4", "001.11"),
        predicted=("no effect",),
    ),
    Change(
        "cosine",
        "CosineAnnealingLR instead of MultiStepLR",
        Role.ADVICE,
        (COSINE,),
        claims=("000.10", "000.15"),
        predicted=("no effect",),
    ),
    Change(
        "warm-up-fourfold",
        "A warm-up four times as long",
        Role.ADVICE,
        (WARMUP_X4,),
        claims=("000.11",),
        predicted=("no effect",),
    ),
    Change(
        "clip-max-norm",
        "Set grad_clip_max_norm, a key that does not exist",
        Role.ADVICE,
        (CLIP_KEY,),
        claims=("000.16",),
        predicted=("cannot be applied",),
    ),
    Change(
        "clip-again",
        "Set grad_clip, which is set already",
        Role.ADVICE,
        (CLIP_AGAIN,),
        claims=("000.17", "001.2", "001.3"),
        predicted=("no effect",),
    ),
    Change(
        "resume-from-the-peak",
        "Resume from the checkpoint of the best validation, which was never saved",
        Role.ADVICE,
        (FROM_THE_PEAK,),
        claims=("000.18",),
        predicted=("cannot be applied",),
    ),
    Change(
        "all-of-000",
        "Everything that write-up 000 proposes and the program accepts",
        Role.ADVICE,
        (NO_DYNAMIC_LOSS, BF16, COSINE, WARMUP_X4),
        claims=("000.19",),
        predicted=("no effect",),
    ),
    Change(
        "momentum",
        "Less momentum in the dynamic loss weights",
        Role.ADVICE,
        (MOMENTUM,),
        claims=("000.6", "001.8"),
        predicted=("no effect",),
    ),
    Change(
        "adaptation-rate",
        "A faster adaptation of the dynamic loss weights",
        Role.ADVICE,
        (ADAPTATION_RATE,),
        claims=("000.7", "001.8"),
        predicted=("no effect",),
    ),
    Change(
        "max-weight",
        "A lower bound of the dynamic loss weights",
        Role.ADVICE,
        (MAX_WEIGHT,),
        claims=("001.7",),
        predicted=("no effect",),
    ),
    Change(
        "baseline",
        "A shorter baseline of the dynamic loss weights",
        Role.ADVICE,
        (BASELINE,),
        claims=("000.8", "001.8"),
        predicted=("no effect",),
    ),
    Change(
        "later-milestones",
        "Lower the learning rate later",
        Role.ADVICE,
        (LATER_MILESTONES,),
        claims=("001.12",),
        predicted=("no effect", "harmful"),
    ),
    Change(
        "no-average",
        "Validate and keep the weights themselves, without an average",
        Role.ADVICE,
        (NO_AVERAGE,),
        claims=("001.6",),
        predicted=("no effect",),
    ),
    Change(
        "min-weight-as-written",
        "Write min_weight as 1e-6, which YAML reads as text",
        Role.ADVICE,
        (MIN_WEIGHT_AS_WRITTEN,),
        claims=("001.14",),
        predicted=("cannot be applied",),
    ),
    Change(
        "all-of-001",
        "The settings that write-up 001 gives in full, as far as they differ",
        Role.ADVICE,
        (BF16, LATER_MILESTONES, WARMUP_X2, MOMENTUM, ADAPTATION_RATE, MAX_WEIGHT, BASELINE, CLIP_AGAIN),
        claims=("001.13", "001.14"),
        predicted=("no effect", "harmful"),
    ),
    Change(
        "multi-scale-similarity",
        "The multi-scale sibling, which is a loss: what the author of the origin took later",
        Role.ADVICE,
        (MULTI_SCALE,),
        claims=("001",),
        predicted=("sufficient",),
    ),
)

# --- what cannot act ----------------------------------------------------------------------------------

PLACEBOS = (
    Change(
        "comment",
        "A comment in the settings",
        Role.PLACEBO,
        (Edit(SHORT, "scale: 2\n", "scale: 2  # twice as large\n", "a comment"),),
        predicted=("no effect",),
    ),
    Change(
        "unreachable-bound",
        "A bound of the dynamic loss weights that nothing reaches, raised",
        Role.PLACEBO,
        (Edit(SHORT, "max_weight: 100.0", "max_weight: 1000.0", "the weights stay within 1 %"),),
        predicted=("no effect",),
    ),
    Change(
        "unreachable-floor",
        "A floor of the dynamic loss weights that nothing reaches, raised",
        Role.PLACEBO,
        (Edit(SHORT, "min_weight: !!float 1e-6", "min_weight: !!float 1e-3", "the weights stay within 1 %"),),
        predicted=("no effect",),
    ),
    Change(
        "unread-eta-min",
        "A setting that only another scheduler reads",
        Role.PLACEBO,
        (
            Edit(
                SHORT,
                "    gamma: 0.5\n",
                "    gamma: 0.5\n    eta_min: !!float 1e-6\n",
                "MultiStepLR has none",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "other-start",
        "Other initial weights: what luck alone does",
        Role.PLACEBO,
        (
            Edit(
                "train.py",
                "torch.manual_seed(opt.manual_seed)",
                "torch.manual_seed(opt.manual_seed + 1_000_003)",
                "the same run from another start",
            ),
        ),
        predicted=("no effect",),
    ),
)


# --- how large ----------------------------------------------------------------------------------------


def sizes(settings: str, base: tuple[Edit, ...] = ()) -> tuple[Size, ...]:
    """The three sizes of a run with these settings, each on top of the edits in `base`."""
    return (
        Size("ci", (*base, *_reduced(settings)), seconds=7),
        Size("small", base, seconds=32),
        Size("gpu", (*base, *_enlarged(settings), *ON_GPU), seconds=60),
    )


def _reduced(settings: str) -> tuple[Edit, ...]:
    why = "seconds"
    return (
        Edit(settings, "num_images: 64", "num_images: 12", why),
        Edit(settings, "num_images: 4\n", "num_images: 2\n", why),
        Edit(settings, "image_size: 256", "image_size: 160", why),
        Edit(settings, "total_iter: 600", "total_iter: 60", why),
        Edit(settings, "val_freq: 30", "val_freq: 15", why),
        Edit(settings, "save_checkpoint_freq: 300", "save_checkpoint_freq: 30", why),
    )


def _enlarged(settings: str) -> tuple[Edit, ...]:
    why = "work for a GPU"
    return (
        Edit(settings, "num_feat: 12", "num_feat: 48", why),
        Edit(settings, "num_blocks: 1", "num_blocks: 4", why),
        Edit(settings, "image_size: 128", "image_size: 256", why),
        Edit(settings, "lq_size: 12", "lq_size: 48", why),
        Edit(settings, "batch_size_per_gpu: 4", "batch_size_per_gpu: 16", why),
        Edit(settings, "lr: !!float 4e-3", "lr: !!float 2e-3", "a larger network"),
        # The scaler can double 24 times, so that it finds the scale at which half precision overflows.
        Edit(settings, "amp_growth_interval: 100", "amp_growth_interval: 25", "to reach the ceiling"),
    )


# The project trains on the CPU; these are the places that say so.
ON_GPU = (
    Edit(
        MODEL,
        "        self.net_g = _build_network(opt)\n",
        '        self.net_g = _build_network(opt).to("cuda")\n',
        "weights on the GPU",
    ),
    Edit(
        MODEL,
        "        self.lq, self.gt = pair\n",
        '        self.lq, self.gt = (image.to("cuda") for image in pair)\n',
        "images on the GPU",
    ),
    Edit(
        MODEL,
        '            "cpu",\n            enabled=',
        '            "cuda",\n            enabled=',
        "its scaler",
    ),
    Edit(MODEL, 'torch.autocast("cpu", dtype', 'torch.autocast("cuda", dtype', "its half precision"),
    Edit(MODEL, "np.asarray(image.numpy(), ", "np.asarray(image.cpu().numpy(), ", "images back to numpy"),
)


# --- the cases ----------------------------------------------------------------------------------------


def command(settings: str) -> str:
    """Train with the seed of the trial, which decides the initial weights and the order of the patches."""
    seeded = f"sed 's/^manual_seed: .*/manual_seed: {{seed}}/' {settings} > seeded.yml"
    return f"{seeded} && python train.py -opt seeded.yml"


CASE = Case(
    name="nano-sr",
    title="A super-resolution network that learns to be unlike its target",
    story=(
        "Validation peaks at once and sinks for the rest of the run, the training loss falls, the loss scale "
        "rises to a million. Two write-ups blame precision, schedule and loss weights. The similarity is "
        "minimised as if it were a loss, and the validation measures images reduced to 64 pixels."
    ),
    project=PROJECT,
    sources=(*SOURCES, SHORT, "judge.py"),
    command=command(SHORT),
    run="experiments/nano_sr",
    evaluate="python judge.py {run}",
    metric=Metric("val/psnr", "max", "dB", bar=BICUBIC_PSNR),
    changes=(*CURES, *ADVICE, *PLACEBOS),
    sizes=sizes(SHORT),
    exaggerated=(
        "600 iterations instead of 40,000, at a learning rate of 4e-3 instead of 2e-4",
        "patches of 12 pixels in batches of 4 instead of 128 in batches of 16, and 6,289 parameters",
        "drawn images whose surfaces vary by few levels of 255, where the wrong sign does most harm",
        "the scaler doubles every 100 clean steps instead of 2,000",
    ),
)
