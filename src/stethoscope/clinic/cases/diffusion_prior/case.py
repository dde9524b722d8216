"""diffusion-prior for the clinic: its sizes, its yardstick, and all that was proposed or would cure it.

cure.py has the cure as it was recorded, in one piece. Here each part of it stands alone, written so that any
of them can be made without the others and all of them together.

Where the write-up names a setting, the same ratio is taken: a learning rate divided by ten or two, a network
of four fifths the width. Its batch of 32 with 2 accumulated is 16 with 1 here: four times as large instead of
eight, and the same product as before.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.cases.diffusion_prior.cure import PROJECT, SOURCES
from stethoscope.clinic.edit import Edit

SHORT = "run_short.sh"
SCRIPT = "train_prior.py"

# The noisy tiles that judge.py measures on, returned as they are.
NOISY_PSNR = 16.74


# --- what cures it ------------------------------------------------------------------------------------

DENOISED_TARGET = Edit(
    SCRIPT,
    """\
    # The velocity: bounded at every noise level.
    target = (clean - noisy / (sigma**2 + 1)) * (sigma**2 + 1).sqrt() / sigma
""",
    """\
    # The model returns the denoised tile. Divided by sigma, every noise level counts alike.
    target, prediction = clean / sigma, prediction / sigma
""",
    "a velocity is regressed on a denoised output",
)
MASKED_LOSS = Edit(
    SCRIPT,
    """\
    return F.mse_loss(prediction, target)
""",
    """\
    # A padded channel is nobody's image.
    real = torch.arange(CHANNELS, device=clean.device) < batch["channels"][:, None]
    return F.mse_loss(prediction, target, reduction="none").mean(dim=(2, 3))[real].mean()
""",
    "padded channels are inside the loss",
)
ACCUMULATION = Edit(
    SCRIPT,
    """\
            manager.optimizer.zero_grad()
            manager.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            manager.scaler.step(manager.optimizer)
            manager.scaler.update()
            step += 1
""",
    """\
            accumulation = args.gradient_accumulation_steps
            manager.scaler.scale(loss / accumulation).backward()  # type: ignore[no-untyped-call]
            step += 1
            if step % accumulation == 0:
                manager.scaler.step(manager.optimizer)
                manager.scaler.update()
                manager.optimizer.zero_grad()
""",
    "every batch made an update of its own",
)
CLIP = (
    Edit(
        SCRIPT,
        """\
        self.best_val_loss = float("inf")
""",
        """\
        self.best_val_loss = float("inf")
        # The scaler has undone its scale by the time that the optimizer steps.
        self.optimizer.register_step_pre_hook(self.clip_gradients)
""",
        "no gradient was clipped",
    ),
    Edit(
        SCRIPT,
        """\
    def describe(self) -> None:
""",
        """\
    def clip_gradients(self, *_: Any) -> None:
        \"\"\"Shorten the gradient to the norm that was asked for.\"\"\"
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.gradient_clip_norm)

    def describe(self) -> None:
""",
        "what the hook does",
    ),
)
SCHEDULE = (
    Edit(
        SCRIPT,
        """\
            with manager.autocast():
                loss = diffusion_loss(manager.model, batch)
""",
        """\
            for group in manager.optimizer.param_groups:
                group["lr"] = args.learning_rate * rate_factor(args, step)
            with manager.autocast():
                loss = diffusion_loss(manager.model, batch)
""",
        "the learning rate never moved",
    ),
    Edit(
        SCRIPT,
        """\
class TrainingManager:
""",
        """\
def rate_factor(args: argparse.Namespace, step: int) -> float:
    \"\"\"What to multiply the learning rate by: a linear warm-up, then the schedule.\"\"\"
    if step < args.warmup_steps:
        return float(step + 1) / args.warmup_steps
    if args.lr_scheduler == "constant":
        return 1.0
    done = min(1.0, (step - args.warmup_steps) / (args.max_steps - args.warmup_steps))
    return 0.5 * (1 + math.cos(math.pi * done))


class TrainingManager:
""",
        "warm-up and cosine were never built",
    ),
    Edit(
        SCRIPT, "import logging\nfrom pathlib", "import logging\nimport math\nfrom pathlib", "for the cosine"
    ),
)

CURES = (
    Change(
        "denoised-target",
        "Compare the denoised output with the clean tile instead of a velocity",
        Role.CURE,
        (DENOISED_TARGET,),
        predicted=("necessary", "sufficient"),
    ),
    Change(
        "masked-loss",
        "Leave padded channels out of the loss",
        Role.CURE,
        (MASKED_LOSS,),
        predicted=("helpful", "no effect"),
    ),
    Change(
        "accumulation",
        "Accumulate gradients, as the launcher asks",
        Role.CURE,
        (ACCUMULATION,),
        predicted=("helpful", "no effect"),
    ),
    Change(
        "clip", "Clip gradients, as the launcher asks", Role.CURE, CLIP, predicted=("helpful", "no effect")
    ),
    Change(
        "schedule",
        "Warm the learning rate up and let it fall, as the launcher asks",
        Role.CURE,
        SCHEDULE,
        predicted=("helpful", "no effect"),
    ),
)


# --- what was proposed --------------------------------------------------------------------------------

REPLICATE = Edit(
    "prior/data.py",
    """\
            # Pad with zeros to reach four channels, so that one network takes every domain.
            padding = torch.zeros(CHANNELS - channels, TILE_SIZE, TILE_SIZE)
            clean = torch.cat([clean, padding], dim=0)
""",
    """\
            clean = clean.repeat(CHANNELS, 1, 1)
""",
    "replicate the single channel four times",
)
LOG_UNIFORM = Edit(
    SCRIPT,
    "torch.exp(torch.randn(clean.shape[0], device=clean.device) * 1.2 - 1.2)",
    "(0.02 * 5000 ** torch.rand(clean.shape[0], device=clean.device))",
    "sample log-uniformly from a wider range",
)
KEEP_THE_BEST = Edit(
    SCRIPT,
    """\
    logger.info("Training completed at step %s", f"{step:,}")
""",
    """\
    logger.info("Training completed at step %s", f"{step:,}")
    best = torch.load(args.output_dir / "best_model.pth", weights_only=True)
    manager.model.load_state_dict(best["model_state_dict"])
    manager.save_checkpoint(step)
""",
    "use the best checkpoint instead of the last",
)


def advice(launcher: str, rate: str, tenth: str, half: str) -> tuple[Change, ...]:
    """What the write-up proposes, for a launcher with the learning rate `rate`."""

    def set_to(name: str, old: str, to: str, why: str) -> Edit:
        return Edit(launcher, f'{name}="{old}"', f'{name}="{to}"', why)

    lower = set_to("LEARNING_RATE", rate, tenth, "too high for a small batch")
    batch = set_to("BATCH_SIZE", "4", "16", "far too small")
    smaller = set_to("MODEL_CHANNELS", "16", "12", "too large for so few examples per update")
    accumulate = set_to("GRAD_ACCUM", "4", "1", "the effective batch stays the same")
    resume = set_to(
        "RESUME", "", "--resume_checkpoint $OUTPUT_DIR/best_model.pth", "from the best, not the last"
    )
    return (
        _proposed("batch-16", "A batch four times as large", (batch,), "002.2", "002.3"),
        _proposed("rate-by-ten", "A tenth of the learning rate", (lower,), "002.4"),
        _proposed("smaller-network", "A network of less width", (smaller,), "002.5"),
        _proposed("replicate", "Copy the single channel instead of padding", (REPLICATE,), "002.6", "002.7"),
        _proposed(
            "log-uniform", "Noise levels log-uniform from 0.02 to 100", (LOG_UNIFORM,), "002.9", "002.10"
        ),
        _proposed(
            "best-checkpoint", "Take the best model, not the last", (KEEP_THE_BEST,), "002.11", "002.14"
        ),
        _proposed(
            "option-b",
            "Larger batch, less accumulation, half the learning rate, a smaller network",
            (batch, accumulate, set_to("LEARNING_RATE", rate, half, "more stable"), smaller),
            "002.15",
        ),
        _proposed(
            "resume-from-the-best",
            "Resume from the best model, by a flag that nothing reads",
            (resume,),
            "002.16",
        ),
        _proposed(
            "option-c",
            "Resume from the best, a tenth of the learning rate, larger batch, copied channels",
            (resume, lower, batch, REPLICATE),
            "002.16",
        ),
        _proposed(
            "accumulate-less",
            "Accumulate less, by a setting that nothing reads",
            (accumulate,),
            "002.1",
            "002.12",
        ),
    )


def _proposed(name: str, title: str, edits: tuple[Edit, ...], *claims: str) -> Change:
    """Advice of write-up 002. None of it touches the target, so none of it is expected to act."""
    return Change(name, title, Role.ADVICE, edits, claims, ("no effect",))


# --- what cannot act ----------------------------------------------------------------------------------

WORKING_RESUME = (
    Edit(
        SCRIPT,
        """\
        logger.info("   Checkpoint saved at step %s", f"{step:,}")
""",
        """\
        torch.save(state, folder / "latest.pth")
        logger.info("   Checkpoint saved at step %s", f"{step:,}")
""",
        "the launcher looks for latest.pth, which nothing wrote",
    ),
    Edit(
        SCRIPT,
        """\
    def save_best(self, step: int, val_loss: float) -> None:
""",
        """\
    def resume(self, checkpoint: Path) -> int:
        \"\"\"Restore everything that `save_checkpoint` wrote and return the step to go on from.\"\"\"
        state = torch.load(checkpoint, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model_state_dict"])
        self.optimizer.load_state_dict(state["optimizer_state_dict"])
        self.scaler.load_state_dict(state["scaler_state_dict"])
        self.best_val_loss = state["best_val_loss"]
        return int(state["step"])

    def save_best(self, step: int, val_loss: float) -> None:
""",
        "nothing could read a checkpoint",
    ),
    Edit(
        SCRIPT,
        """\
        logger.info("Resuming from %s", args.resume_checkpoint)
""",
        """\
        logger.info("Resuming from %s", args.resume_checkpoint)
        step = manager.resume(args.resume_checkpoint)
""",
        "the flag was logged and nothing was loaded",
    ),
)
NO_SCALER = Edit(
    SCRIPT,
    "torch.amp.GradScaler(self.device.type)",
    "torch.amp.GradScaler(self.device.type, enabled=False)",
    "bfloat16 has the range of float32: there is nothing to scale",
)
OTHER_START = Edit(
    SCRIPT,
    "torch.manual_seed(args.seed)",
    "torch.manual_seed(args.seed + 1_000_003)",
    "the same run from another start",
)


def placebos(launcher: str) -> tuple[Change, ...]:
    """What cannot act: comments, settings that never arrive, and repairs that a fresh run does not need."""

    def nothing(name: str, title: str, *edits: Edit) -> Change:
        return Change(name, title, Role.PLACEBO, edits, predicted=("no effect",))

    return (
        nothing(
            "comment", "A comment in the launcher", Edit(launcher, "# Network\n", "# The network\n", "words")
        ),
        nothing(
            "clip-setting",
            "A smaller norm to clip at, by a setting that nothing reads",
            Edit(launcher, 'GRADIENT_CLIP="1.0"', 'GRADIENT_CLIP="0.1"', "it never arrives"),
        ),
        nothing(
            "schedule-setting",
            "A constant learning rate, by a setting that nothing reads",
            Edit(launcher, 'LR_SCHEDULER="cosine"', 'LR_SCHEDULER="constant"', "it never arrives"),
        ),
        nothing("no-scaler", "No gradient scaler under bfloat16, where it has nothing to do", NO_SCALER),
        nothing("working-resume", "A resume that works, in a run that does not resume", *WORKING_RESUME),
        nothing("other-start", "Other initial weights and noise: what luck alone does", OTHER_START),
    )


# --- how large ----------------------------------------------------------------------------------------


def sizes(launcher: str, steps: int, seconds: float) -> tuple[Size, ...]:
    """The three sizes of a run with this launcher."""

    def set_to(name: str, old: int, to: int) -> Edit:
        return Edit(launcher, f'{name}="{old}"', f'{name}="{to}"', "its size")

    reduced = (
        set_to("MAX_STEPS", steps, 240),
        set_to("WARMUP_STEPS", steps // 20, 12),
        set_to("VAL_FREQUENCY", steps // 10, 120),
        set_to("SAVE_FREQUENCY", steps // 2, 120),
        set_to("NUM_BLOCKS", 2, 1),
        Edit(SCRIPT, "TRAIN_TILES, VAL_TILES = 1536, 96", "TRAIN_TILES, VAL_TILES = 384, 24", "its size"),
    )
    enlarged = (
        # Eight times the steps: what a GPU does in the time of the small size.
        set_to("MAX_STEPS", steps, 8 * steps),
        set_to("WARMUP_STEPS", steps // 20, 8 * steps // 20),
        set_to("VAL_FREQUENCY", steps // 10, 8 * steps // 10),
        set_to("SAVE_FREQUENCY", steps // 2, 8 * steps // 2),
        set_to("NUM_BLOCKS", 2, 4),
    )
    return Size("ci", reduced, 8), Size("small", (), seconds), Size("gpu", enlarged, 180)


# --- the cases ----------------------------------------------------------------------------------------


def command(launcher: str) -> str:
    """Train with the trial's seed: it decides the initial weights, the noise and the order of the tiles."""
    seeded = f"sed 's/python train_prior.py/python train_prior.py --seed {{seed}}/' {launcher} > seeded.sh"
    return f"{seeded} && bash seeded.sh"


CASE = Case(
    name="diffusion-prior",
    title="A denoiser trained on a target that is not its output, by settings that never arrive",
    story=(
        "The loss falls and is called excellent, and the model returns images far worse than the noisy ones "
        "it was given. A write-up blames batch, learning rate, size and noise levels. The target is a "
        "velocity and the output a denoised image; padded channels dilute the loss; accumulation, clipping, "
        "schedule and resume are parsed, logged and never used."
    ),
    project=PROJECT,
    sources=(*SOURCES, SHORT, "judge.py"),
    command=command(SHORT),
    run="results/prior",
    evaluate="python judge.py {run}",
    metric=Metric("psnr", "max", "dB", bar=NOISY_PSNR),
    changes=(*CURES, *advice(SHORT, "2e-3", "2e-4", "1e-3"), *placebos(SHORT)),
    sizes=sizes(SHORT, 1200, 38),
    exaggerated=(
        "1,200 steps instead of 90,000, at a learning rate of 2e-3 instead of 1e-4",
        "tiles of 16 pixels and 30,820 parameters instead of 128 pixels and 1.6 billion",
        "4 accumulated batches asked for instead of 16, so that the cured run makes 300 updates",
    ),
    needs=("torch",),
)
