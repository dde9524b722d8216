"""What is kept of a training, and how one goes on from it."""

import logging
from pathlib import Path

import torch
from torch import nn
from torch.optim import Optimizer
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


    def save_last(self, epoch: int, model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler) -> None:
        """Write everything that another session needs to go on."""
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
        """Restore what `save_last` wrote and return the epoch to go on with."""
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        self.best_score = state["best_score"]
        start_epoch = int(state["epoch"]) + 1
        logger.info("Resumed from %s at epoch %d", Path(checkpoint).name, start_epoch)
        return start_epoch
