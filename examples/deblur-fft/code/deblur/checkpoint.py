"""What is kept of a training, and how one goes on from it."""

import logging
from pathlib import Path

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

logger = logging.getLogger(__name__)


class CheckpointManager:
    """Keeps the model of every epoch that scores higher than all before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.best_score = float("-inf")

    def save_if_best(self, score: float, epoch: int, model: nn.Module) -> None:
        """Write the model where `score` is the highest so far."""
        if score <= self.best_score:
            return
        self.best_score = score
        torch.save(model.state_dict(), self.folder / f"best_model_epoch{epoch}.pt")
        logger.info("New best model saved! Score: %.4f", score)


def resume(checkpoint: str, start_epoch: int, model: nn.Module, scheduler: LRScheduler) -> None:
    """Load the weights and bring the schedule to `start_epoch`."""
    model.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True))
    for _ in range(start_epoch - 1):
        scheduler.step()
    logger.info("Resumed from %s at epoch %d", Path(checkpoint).name, start_epoch)
