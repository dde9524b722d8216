"""The super-resolution model: one training step, validation, saving and resuming."""

import logging
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, MultiStepLR

from .arch import NanoSR
from .data import Pair, ProceduralPairs
from .dynamic_loss import DynamicLossScheduler
from .ema import ExponentialMovingAverage
from .log import log_validation
from .losses import build_loss, loss_label
from .metrics import METRICS, Image
from .options import OptionError, Options, Scheduler

logger = logging.getLogger("nano_sr")


class SRModel:
    """A generator with everything that trains it."""

    def __init__(self, opt: Options, experiment: Path) -> None:
        self.opt = opt
        self.experiment = experiment
        self.net_g = _build_network(opt)
        if opt.path.pretrain_network_g:
            self.net_g.load_state_dict(load_file(opt.path.pretrain_network_g))
        self.net_g_ema = ExponentialMovingAverage(self.net_g, opt.train.ema_decay, opt.train.ema_power)
        self.losses = {loss_label(loss): build_loss(loss) for loss in opt.train.losses}
        self.dynamic_loss = DynamicLossScheduler(opt.train.dynamic_loss_scheduling)
        self.optimizer_g = _build_optimizer(opt, self.net_g)
        self.scheduler_g = _build_scheduler(opt.train.scheduler, self.optimizer_g)
        self.amp_dtype = torch.bfloat16 if opt.amp_bf16 else torch.float16
        self.scaler_g = torch.amp.GradScaler(
            "cpu",
            enabled=opt.use_amp and not opt.amp_bf16,
            growth_interval=opt.train.amp_growth_interval,
        )
        self.step_skipped = False
        self.window: defaultdict[str, list[float]] = defaultdict(list)
        self.best: dict[str, tuple[float, int]] = {}

    def feed_data(self, pair: Pair) -> None:
        """Take the images that the next step or test works on."""
        self.lq, self.gt = pair

    def optimize_parameters(self, current_iter: int) -> None:
        """Take one training step."""
        self.optimizer_g.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=self.amp_dtype, enabled=self.opt.use_amp):
            output = self.net_g(self.lq)
        l_g_total, loss_dict = self.compute_losses(output.float())
        if not torch.isfinite(l_g_total):
            raise RuntimeError(f"Training failed: NaN/Inf found in loss at iter {current_iter}.")

        self.scaler_g.scale(l_g_total).backward()  # type: ignore[no-untyped-call]
        self.scaler_g.unscale_(self.optimizer_g)
        max_norm = 1.0 if self.opt.train.grad_clip else math.inf
        # The norm before clipping; inf or nan marks a step that the scaler will skip.
        grad_norm = clip_grad_norm_(self.net_g.parameters(), max_norm)
        scale_before = self.scaler_g.get_scale()
        self.scaler_g.step(self.optimizer_g)
        self.scaler_g.update()
        # The scaler lowers its scale exactly when it has skipped the step.
        self.step_skipped = self.scaler_g.get_scale() < scale_before
        if not self.step_skipped:
            self.net_g_ema.update(self.net_g)

        loss_dict["grad_norm_g"] = float(grad_norm)
        loss_dict["scale_g"] = self.scaler_g.get_scale()
        for label, value in loss_dict.items():
            self.window[label].append(value)

    def compute_losses(self, output: Tensor) -> tuple[Tensor, dict[str, float]]:
        """Return the weighted sum of all losses, and the terms to log."""
        raw = {label: criterion(output, self.gt) for label, criterion in self.losses.items()}
        multipliers = dict.fromkeys(raw, 1.0)
        if self.opt.train.dynamic_loss_scheduling.enabled:
            multipliers = self.dynamic_loss({label: float(loss.detach()) for label, loss in raw.items()})

        l_g_total = torch.zeros(())
        loss_dict: dict[str, float] = {}
        for label, loss in raw.items():
            weighted = loss * abs(self.losses[label].loss_weight) * multipliers[label]
            l_g_total = l_g_total + weighted
            loss_dict[label] = float(weighted.detach())
        loss_dict["l_g_total"] = float(l_g_total.detach())
        if self.opt.train.dynamic_loss_scheduling.enabled:
            loss_dict |= {f"dynamic_weight_{label}": value for label, value in multipliers.items()}
        return l_g_total, loss_dict

    def update_learning_rate(self, current_iter: int) -> None:
        """Move the schedule one step, unless the optimiser did not step."""
        if not self.step_skipped:
            self.scheduler_g.step()
        warmup_iter = self.opt.train.warmup_iter
        if current_iter <= warmup_iter:
            for group in self.optimizer_g.param_groups:
                group["lr"] = group["initial_lr"] * current_iter / warmup_iter

    def learning_rates(self) -> list[float]:
        """Return the learning rate of each parameter group."""
        return [float(group["lr"]) for group in self.optimizer_g.param_groups]

    def pop_window_means(self) -> dict[str, float]:
        """Return the mean of each logged scalar since the last call."""
        means = {label: float(np.mean(values)) for label, values in self.window.items()}
        self.window.clear()
        return means

    def test(self) -> None:
        """Enlarge the current validation image with the averaged weights."""
        # Cap the input at 64 px to save memory: whole photographs do not fit next to the training state.
        longest = max(self.lq.shape[-2:])
        if longest > 64:
            height, width = (round(side * 64 / longest) for side in self.lq.shape[-2:])
            self.lq = nn.functional.interpolate(self.lq, size=(height, width), mode="bicubic")
            size = (height * self.opt.scale, width * self.opt.scale)
            self.gt = nn.functional.interpolate(self.gt, size=size, mode="bicubic")
        with torch.inference_mode():
            self.output = self.net_g_ema.network(self.lq)

    def validate(self, dataset: ProceduralPairs, current_iter: int) -> dict[str, float]:
        """Measure the averaged weights on a whole dataset, and log it."""
        metrics = self.opt.val.metrics
        scores: dict[str, list[float]] = {name: [] for name in metrics}
        for lq, gt in dataset.pairs:
            self.feed_data((lq.unsqueeze(0), gt.unsqueeze(0)))
            self.test()
            sr_image, gt_image = _to_image(self.output), _to_image(self.gt)
            for name, metric in metrics.items():
                scores[name].append(METRICS[metric.type](sr_image, gt_image, metric.crop_border))
        results = {name: float(np.mean(values)) for name, values in scores.items()}
        for name, value in results.items():
            self._keep_best(name, value, current_iter)
        log_validation(dataset.name, results, self.best)
        return results

    def _keep_best(self, name: str, value: float, current_iter: int) -> None:
        sign = 1 if self.opt.val.metrics[name].better == "higher" else -1
        if name not in self.best or sign * value > sign * self.best[name][0]:
            self.best[name] = (value, current_iter)

    def save(self, epoch: int, current_iter: int) -> None:
        """Write the averaged weights, the online weights and the training state."""
        for folder in ("models", "resume_models", "training_states"):
            (self.experiment / folder).mkdir(exist_ok=True)
        ema_file, net_file, state_file = self._checkpoint(current_iter)
        save_file(self.net_g_ema.network.state_dict(), ema_file)
        save_file(self.net_g.state_dict(), net_file)
        state = {
            "epoch": epoch,
            "iter": current_iter,
            "optimizer_g": self.optimizer_g.state_dict(),
            "scheduler_g": self.scheduler_g.state_dict(),
            "scaler_g": self.scaler_g.state_dict(),
            "dynamic_loss": self.dynamic_loss.state_dict(),
            "ema_step": self.net_g_ema.step,
            "best": self.best,
        }
        torch.save(state, state_file)

    def resume(self) -> int:
        """Restore everything that `save` wrote and return the iteration to go on from."""
        state: dict[str, Any] = torch.load(str(self.opt.path.resume_state), weights_only=True)
        current_iter = int(state["iter"])
        ema_file, net_file, _ = self._checkpoint(current_iter)
        self.net_g.load_state_dict(load_file(net_file))
        self.net_g_ema.network.load_state_dict(load_file(ema_file))
        self.net_g_ema.step = state["ema_step"]
        self.optimizer_g.load_state_dict(state["optimizer_g"])
        self.scheduler_g.load_state_dict(state["scheduler_g"])
        self.scaler_g.load_state_dict(state["scaler_g"])
        self.dynamic_loss.load_state_dict(state["dynamic_loss"])
        self.best = state["best"]
        return current_iter

    def _checkpoint(self, current_iter: int) -> tuple[Path, Path, Path]:
        return (
            self.experiment / "models" / f"net_g_ema_{current_iter}.safetensors",
            self.experiment / "resume_models" / f"net_g_{current_iter}.safetensors",
            self.experiment / "training_states" / f"{current_iter}.state",
        )


def _build_network(opt: Options) -> NanoSR:
    network = opt.network_g
    if network.type.lower() != "nano_sr":
        raise OptionError(f"unknown network type `{network.type}`; known: nano_sr")
    return NanoSR(opt.scale, network.num_feat, network.num_blocks, network.upsampler_alpha)


def _build_optimizer(opt: Options, network: nn.Module) -> torch.optim.Optimizer:
    optim = opt.train.optim_g
    if optim.type.lower() != "adamw":
        raise OptionError(f"unknown optimizer type `{optim.type}`; known: AdamW")
    betas = (optim.betas[0], optim.betas[1])
    return torch.optim.AdamW(network.parameters(), lr=optim.lr, betas=betas, weight_decay=optim.weight_decay)


def _build_scheduler(opt: Scheduler, optimizer: torch.optim.Optimizer) -> LRScheduler:
    if opt.type.lower() == "multisteplr":
        return MultiStepLR(optimizer, milestones=opt.milestones, gamma=opt.gamma)
    if opt.type.lower() == "cosineannealinglr":
        return CosineAnnealingLR(optimizer, T_max=opt.T_max, eta_min=opt.eta_min)
    raise OptionError(f"unknown scheduler type `{opt.type}`; known: MultiStepLR, CosineAnnealingLR")


def _to_image(tensor: Tensor) -> Image:
    image = tensor.squeeze(0).clamp(0, 1).mul(255).round().byte().permute(1, 2, 0)
    return np.asarray(image.numpy(), dtype=np.uint8)
