"""What cures this patient: replacements in its source. The settings in run.sh stay as they are.

The folder holds the sick project. The cured twin is made from it by these edits, so the two
can differ only here.
"""

from pathlib import Path

from stethoscope.clinic.edit import Edit, copy_files

PROJECT = Path(__file__).parent
# What a user's repository holds; the rest of this folder is the clinic's.
SOURCES = (
    "run.sh",
    "train_prior.py",
    "evaluate.py",
    *sorted(f"prior/{file.name}" for file in (PROJECT / "prior").glob("*.py")),
)

TARGET_IS_NOT_WHAT_THE_MODEL_RETURNS = Edit(
    file="train_prior.py",
    old="""\
    # The velocity: bounded at every noise level.
    target = (clean - noisy / (sigma**2 + 1)) * (sigma**2 + 1).sqrt() / sigma
    return F.mse_loss(prediction, target)
""",
    to="""\
    # The model returns the denoised tile. Weighted by 1 / sigma**2, every noise level counts alike.
    squared = F.mse_loss(prediction, clean, reduction="none") / sigma**2
    # A padded channel is nobody's image.
    real = torch.arange(CHANNELS, device=clean.device) < batch["channels"][:, None]
    return squared.mean(dim=(2, 3))[real].mean()
""",
    why="a velocity is regressed on a denoised output, padded channels included",
)

SCALER_UNDER_BF16 = Edit(
    file="train_prior.py",
    old="""\
        self.scaler = torch.amp.GradScaler(self.device.type)
""",
    to="""\
        # bfloat16 has the range of float32: there is nothing to scale.
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=False)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, learning_rate_factor(args))
""",
    why="the scaler has nothing to do under bfloat16; warm-up and cosine were never built",
)

SCHEDULE = Edit(
    file="train_prior.py",
    old="""\
class TrainingManager:
""",
    to="""\
def learning_rate_factor(args: argparse.Namespace) -> Callable[[int], float]:
    \"\"\"What to multiply the learning rate by at each update: a linear warm-up, then the schedule.\"\"\"
    warmup = max(1, args.warmup_steps // args.gradient_accumulation_steps)
    total = max(warmup + 1, args.max_steps // args.gradient_accumulation_steps)

    def factor(update: int) -> float:
        if update < warmup:
            return (update + 1) / warmup
        if args.lr_scheduler == "constant":
            return 1.0
        done = min(1.0, (update - warmup) / (total - warmup))
        return 0.5 * (1 + math.cos(math.pi * done))

    return factor


class TrainingManager:
""",
    why="the schedule that run.sh asks for was never built",
)

IMPORTS = Edit(
    file="train_prior.py",
    old="""\
import logging
from pathlib import Path
""",
    to="""\
import logging
import math
from collections.abc import Callable
from pathlib import Path
""",
    why="the schedule needs them",
)

CHECKPOINT_WITHOUT_SCHEDULE = Edit(
    file="train_prior.py",
    old="""\
            "scaler_state_dict": self.scaler.state_dict(),
            "best_val_loss": self.best_val_loss,
            "config": self.config,
        }
        torch.save(state, folder / f"checkpoint_step_{step:07d}.pth")
""",
    to="""\
            "scheduler_state_dict": self.scheduler.state_dict(),
            "scaler_state_dict": self.scaler.state_dict(),
            "best_val_loss": self.best_val_loss,
            "config": self.config,
        }
        torch.save(state, folder / f"checkpoint_step_{step:07d}.pth")
        torch.save(state, folder / "latest.pth")
""",
    why="the launcher looks for latest.pth, which nothing wrote",
)

RESUME = Edit(
    file="train_prior.py",
    old="""\
    def save_best(self, step: int, val_loss: float) -> None:
""",
    to="""\
    def resume(self, checkpoint: Path) -> int:
        \"\"\"Restore everything that `save_checkpoint` wrote and return the step to go on from.\"\"\"
        state = torch.load(checkpoint, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model_state_dict"])
        self.optimizer.load_state_dict(state["optimizer_state_dict"])
        self.scheduler.load_state_dict(state["scheduler_state_dict"])
        self.scaler.load_state_dict(state["scaler_state_dict"])
        self.best_val_loss = state["best_val_loss"]
        return int(state["step"])

    def save_best(self, step: int, val_loss: float) -> None:
""",
    why="nothing could read a checkpoint",
)

RESUME_FLAG_IS_NEVER_USED = Edit(
    file="train_prior.py",
    old="""\
        logger.info("Resuming from %s", args.resume_checkpoint)
""",
    to="""\
        logger.info("Resuming from %s", args.resume_checkpoint)
        step = manager.resume(args.resume_checkpoint)
""",
    why="the flag was logged and nothing was loaded",
)

NO_ACCUMULATION_NO_CLIP_NO_SCHEDULE = Edit(
    file="train_prior.py",
    old="""\
            manager.optimizer.zero_grad()
            manager.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            manager.scaler.step(manager.optimizer)
            manager.scaler.update()
            step += 1

            if step % args.log_frequency == 0:
                logger.info("Step %s: Loss = %.6f", f"{step:,}", loss.item())
""",
    to="""\
            manager.scaler.scale(loss / accumulation).backward()  # type: ignore[no-untyped-call]
            step += 1
            window.append(loss.detach())
            if step % accumulation == 0:
                manager.scaler.unscale_(manager.optimizer)
                nn.utils.clip_grad_norm_(manager.model.parameters(), args.gradient_clip_norm)
                manager.scaler.step(manager.optimizer)
                manager.scaler.update()
                manager.scheduler.step()
                manager.optimizer.zero_grad()

            if step % args.log_frequency == 0:
                # The mean since the last line: one batch of four noise levels says little.
                logger.info("Step %s: Loss = %.6f", f"{step:,}", torch.stack(window).mean().item())
                window.clear()
""",
    why="every batch made an update of its own, unclipped, and the log showed one batch",
)

BEFORE_THE_LOOP = Edit(
    file="train_prior.py",
    old="""\
    manager.model.train()
    while step < args.max_steps:
""",
    to="""\
    manager.model.train()
    accumulation = args.gradient_accumulation_steps
    window: list[Tensor] = []
    manager.optimizer.zero_grad()
    while step < args.max_steps:
""",
    why="what the loop counts with",
)

CURE = (
    TARGET_IS_NOT_WHAT_THE_MODEL_RETURNS,
    SCALER_UNDER_BF16,
    SCHEDULE,
    IMPORTS,
    CHECKPOINT_WITHOUT_SCHEDULE,
    RESUME,
    RESUME_FLAG_IS_NEVER_USED,
    NO_ACCUMULATION_NO_CLIP_NO_SCHEDULE,
    BEFORE_THE_LOOP,
)


def copy_project(target: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Copy the project's source to `target` and apply `edits` to the copy."""
    copy_files(PROJECT, SOURCES, target, edits)
