"""The trainer: epochs of mixed-precision steps, each followed by a validation."""

import logging
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader

from .checkpoint import CheckpointManager
from .data import Pair, RandomCrops

logger = logging.getLogger(__name__)


class Trainer:
    """Holds what a training needs and runs it."""

    def __init__(
        self,
        model: nn.Module,
        criterion: nn.Module,
        optimizer: Optimizer,
        scheduler: LRScheduler,
        checkpoints: CheckpointManager,
        device: torch.device,
        grad_clip_norm: float,
    ) -> None:
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.checkpoints = checkpoints
        self.device = device
        self.grad_clip_norm = grad_clip_norm
        self.scaler = torch.amp.GradScaler(device.type)

    def fit(self, crops: RandomCrops, batch_size: int, val_loader: DataLoader[Pair], epochs: range) -> None:
        """Train, validate and keep the best, epoch by epoch."""
        for epoch in epochs:
            crops.set_epoch(epoch)
            train_loader = DataLoader(crops, batch_size, shuffle=True, drop_last=True)
            train_loss, train_psnr = self.train_epoch(train_loader)
            val_loss, val_psnr = self.validate(val_loader)
            logger.info(
                "Epoch %d: train_loss=%.4f, val_loss=%.4f, train_psnr=%.4f, val_psnr=%.4f, lr=%.3e",
                epoch,
                train_loss,
                val_loss,
                train_psnr,
                val_psnr,
                self.optimizer.param_groups[0]["lr"],
            )
            self.scheduler.step()
            self.checkpoints.save_if_best(val_psnr, epoch, self.model)

    def train_epoch(self, loader: DataLoader[Pair]) -> tuple[float, float]:
        """Take one step per batch; return the mean loss and PSNR."""
        self.model.train()
        losses, scores = [], []
        for blurred, sharp in loader:
            blurred, sharp = blurred.to(self.device), sharp.to(self.device)
            self.optimizer.zero_grad(set_to_none=True)
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                loss = self.criterion(outputs, {"sharp_image": sharp})
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            clip_grad_norm_(self.model.parameters(), self.grad_clip_norm)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            losses.append(loss.detach())
            scores.append(psnr(outputs["sharp_image"].detach(), sharp))
        if self.scaler.get_scale() < 1:
            logger.warning("Scaler scale very low: %s", self.scaler.get_scale())
        return mean(losses), mean(scores)

    @torch.no_grad()
    def validate(self, loader: DataLoader[Pair]) -> tuple[float, float]:
        """The mean loss and PSNR on whole images."""
        self.model.eval()
        losses, scores = [], []
        for blurred, sharp in loader:
            blurred, sharp = blurred.to(self.device), sharp.to(self.device)
            with torch.amp.autocast(device_type=self.device.type):
                outputs = self.model(blurred)
                losses.append(self.criterion(outputs, {"sharp_image": sharp}))
            scores.append(psnr(outputs["sharp_image"], sharp))
        return mean(losses), mean(scores)


def psnr(image: Tensor, truth: Tensor) -> Tensor:
    """The peak signal-to-noise ratio in dB, for values in [0, 1]."""
    error = (image.float().clamp(0, 1) - truth).square().mean(dim=(1, 2, 3))
    return -10 / math.log(10) * error.clamp_min(1e-10).log().mean()


def mean(values: list[Any]) -> float:
    """The mean of a list of scalars, read from the device once."""
    return float(torch.stack(values).mean())
