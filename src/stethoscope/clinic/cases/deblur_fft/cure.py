"""What cures this patient: replacements in its source and one weight in its settings.

The folder holds the sick project. The cured twin is made from it by these edits, so the two
can differ only here. `WRITTEN_ADVICE` is what a popular diagnosis changes in the source instead.
"""

from pathlib import Path

from stethoscope.clinic.edit import Edit, copy_files

PROJECT = Path(__file__).parent
# What a user's repository holds; the rest of this folder is the clinic's.
SOURCES = (
    "train.py",
    *sorted(f"deblur/{file.name}" for file in (PROJECT / "deblur").glob("*.py")),
    *sorted(file.relative_to(PROJECT).as_posix() for file in (PROJECT / "configs").rglob("*.yaml")),
)

NORM_IN_HALF = Edit(
    file="deblur/arch.py",
    old="""\
        mean = x.mean(dim=1, keepdim=True)
""",
    to="""\
        x = x.float()
        mean = x.mean(dim=1, keepdim=True)
""",
    why="autocast leaves a norm written by hand in half precision, where its variance overflows at 65504",
)

STEP_IN_HALF = Edit(
    file="deblur/training.py",
    old="""\
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                loss = self.criterion(outputs, {"sharp_image": sharp})
""",
    to="""\
            with torch.amp.autocast(device_type=self.device.type, dtype=torch.bfloat16):
                outputs = self.model(blurred)
                loss = self.criterion(outputs, {"sharp_image": sharp})
""",
    why="gelu(x1) * x2 overflows in half precision; bfloat16 has the range of float32",
)

VALIDATION_IN_HALF = Edit(
    file="deblur/training.py",
    old="""\
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                losses.append(self.criterion(outputs, {"sharp_image": sharp}))
""",
    to="""\
            with torch.amp.autocast(device_type=self.device.type, dtype=torch.bfloat16):
                outputs = self.model(blurred)
                losses.append(self.criterion(outputs, {"sharp_image": sharp}))
""",
    why="validation in the precision of training",
)

NOTHING_TO_SCALE = Edit(
    file="deblur/training.py",
    old="""\
        self.scaler = torch.amp.GradScaler(device.type)
""",
    to="""\
        # bfloat16 has the range of float32: there is nothing to scale.
        self.scaler = torch.amp.GradScaler(device.type, enabled=False)
""",
    why="a scaler has nothing to do under bfloat16",
)

FFT_LOSS_GROWS_WITH_THE_IMAGE = Edit(
    file="deblur/losses.py",
    old="""\
        pred_fft = torch.fft.fft2(pred.float(), dim=(-2, -1))
        target_fft = torch.fft.fft2(target.float(), dim=(-2, -1))
""",
    to="""\
        pred_fft = torch.fft.fft2(pred.float(), dim=(-2, -1), norm="ortho")
        target_fft = torch.fft.fft2(target.float(), dim=(-2, -1), norm="ortho")
""",
    why="without a norm the term grows with the side of the crop and drowns the L1 term",
)

FFT_WEIGHT = Edit(
    file="configs/criterion/deblur.yaml",
    old="""\
    fft_weight: 0.1
""",
    to="""\
    fft_weight: 3.2
""",
    why="0.1 * sqrt(32 * 32): what the term weighed in the crops that it was tuned on",
)

CHECKPOINT_IS_WEIGHTS_ONLY = Edit(
    file="deblur/checkpoint.py",
    old="""\
def resume(checkpoint: str, start_epoch: int, model: nn.Module, scheduler: LRScheduler) -> None:
    \"\"\"Load the weights and bring the schedule to `start_epoch`.\"\"\"
    model.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True))
    for _ in range(start_epoch - 1):
        scheduler.step()
    logger.info("Resumed from %s at epoch %d", Path(checkpoint).name, start_epoch)
""",
    to="""\
    def save_last(self, epoch: int, model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler) -> None:
        \"\"\"Write everything that another session needs to go on.\"\"\"
        state = {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "best_score": self.best_score,
        }
        torch.save(state, self.folder / "last.pt")

    def resume(
        self, checkpoint: str, model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler
    ) -> int:
        \"\"\"Restore what `save_last` wrote and return the epoch to go on with.\"\"\"
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        self.best_score = state["best_score"]
        start_epoch = int(state["epoch"]) + 1
        logger.info("Resumed from %s at epoch %d", Path(checkpoint).name, start_epoch)
        return start_epoch
""",
    why="a resume lost the optimizer's moments and the best score, and guessed the schedule",
)

CHECKPOINT_IMPORTS = Edit(
    file="deblur/checkpoint.py",
    old="""\
from torch import nn
""",
    to="""\
from torch import nn
from torch.optim import Optimizer
""",
    why="the checkpoint holds its state",
)

LAST_EPOCH_IS_KEPT = Edit(
    file="deblur/training.py",
    old="""\
            self.checkpoints.save_if_best(val_psnr, epoch, self.model)
""",
    to="""\
            self.checkpoints.save_if_best(val_psnr, epoch, self.model)
            self.checkpoints.save_last(epoch, self.model, self.optimizer, self.scheduler)
""",
    why="only the best epoch was kept, and only its weights",
)

RESUME_RESTORES_WEIGHTS_ONLY = Edit(
    file="train.py",
    old="""\
        resume(cfg.train.last_checkpoint, start_epoch, model, scheduler)
""",
    to="""\
        start_epoch = checkpoints.resume(cfg.train.last_checkpoint, model, optimizer, scheduler)
""",
    why="the optimizer goes on where it was",
)

TRAIN_IMPORTS = Edit(
    file="train.py",
    old="""\
from deblur.checkpoint import CheckpointManager, resume
""",
    to="""\
from deblur.checkpoint import CheckpointManager
""",
    why="the same",
)

CURE = (
    NORM_IN_HALF,
    STEP_IN_HALF,
    VALIDATION_IN_HALF,
    NOTHING_TO_SCALE,
    FFT_LOSS_GROWS_WITH_THE_IMAGE,
    FFT_WEIGHT,
    CHECKPOINT_IS_WEIGHTS_ONLY,
    CHECKPOINT_IMPORTS,
    LAST_EPOCH_IS_KEPT,
    RESUME_RESTORES_WEIGHTS_ONLY,
    TRAIN_IMPORTS,
)

WRITTEN_ADVICE = (
    Edit(
        file="configs/train/default.yaml",
        old="lr: 0.01\nweight_decay",
        to="lr: 0.002\nweight_decay",
        why="a fifth of the learning rate",
    ),
    Edit(
        file="deblur/losses.py",
        old="""\
        return F.l1_loss(torch.view_as_real(pred_fft), torch.view_as_real(target_fft))
""",
        to="""\
        norm_factor = pred.size(-2) * pred.size(-1)
        return F.l1_loss(
            torch.view_as_real(pred_fft / norm_factor), torch.view_as_real(target_fft / norm_factor)
        )
""",
        why="divides the frequency term by the number of pixels, which leaves nothing of it",
    ),
    Edit(
        file="deblur/arch.py",
        old="variance + 1e-5",
        to="variance + 1e-4",
        why="a larger epsilon",
    ),
    Edit(
        file="deblur/arch.py",
        old="""\
        x_patch = to_patches(x, self.patch_size)
        x_patch_fft = torch.fft.rfft2(x_patch.float())
""",
        to="""\
        x_patch = to_patches(x, self.patch_size).float()
        with torch.amp.autocast(device_type=x.device.type, enabled=False):
            x_patch_fft = torch.fft.rfft2(x_patch)
""",
        why="converts before the transform what was converted in its call",
    ),
)


def copy_project(target: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Copy the project's source and settings to `target` and apply `edits` to the copy."""
    copy_files(PROJECT, SOURCES, target, edits)
