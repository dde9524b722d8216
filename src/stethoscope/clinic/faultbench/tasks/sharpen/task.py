"""The task sharpen: super-resolution with three losses, Adam and an average of the weights."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.sharpen.data import drawn, make
from stethoscope.clinic.faultbench.tasks.sharpen.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
PICTURES = 64
BICUBIC = 21.70  # dB, what the enlargement alone scores on those pictures


def judge(weights: Path) -> float:
    """The PSNR in dB of a checkpoint's averaged weights on textures that no run has seen."""
    import torch

    states = torch.load(weights)
    found = states.get("params_ema") or states["params"]
    kept = {name.removeprefix("module."): one.float() for name, one in found.items()}
    features = kept["conv_first.weight"].shape[0]
    blocks = len({name.split(".")[1] for name in kept if name.startswith("body.")})
    network = import_module("archs.sharpen_arch").SharpenNet(features, blocks)  # of the untouched project
    network.load_state_dict(kept)
    metrics = import_module("metrics.psnr_ssim")
    arrays = drawn(np.random.default_rng(UNSEEN), PICTURES)
    with torch.no_grad():
        made = network(torch.from_numpy(arrays["lq"]).float().unsqueeze(1) / 255.0)
    if not bool(torch.isfinite(made).all()):
        return float("nan")
    scores = [
        metrics.calculate_psnr(metrics.tensor2img(sr), gt, 2)
        for sr, gt in zip(made, arrays["gt"], strict=True)
    ]
    return float(np.mean(scores))


TASK = Task(
    name="sharpen",
    title="Super-resolution with an average of the weights",
    project=PROJECT,
    script="train.py",
    settings="options/train.yml",
    run="experiments/sharpen_x2",
    metric=Metric("psnr", "max", unit="dB", bar=BICUBIC),
    data=make,
    judge=judge,
    steps="train.total_iter",
    checkpoints="models/net_g_0*.pth",
    nuisances=(
        Spread("train.optim_g.lr", 1.5),
        Spread("datasets.train.batch_size", 1.3, whole=True),
        Spread("train.warmup_iter", 1.8, whole=True),
        Choice("train.optim_g.type", ("Adam", "AdamW")),
        Choice("train.optim_g.weight_decay", ("0.0", "0.0", "1.0e-5")),
        Choice("train.optim_g.beta2", ("0.99", "0.999")),
        Choice("train.scheduler.type", ("MultiStepLR", "CosineAnnealingLR")),
        Choice("train.clip_grad_norm", ("0.0", "0.0", "1.0")),
        Choice("train.precision", ("fp32", "fp32", "bf16")),
        Choice("train.ema_decay", ("0.9", "0.95", "0.97")),
        Choice("train.pixel_opt.type", ("L1Loss", "L1Loss", "CharbonnierLoss")),
        Choice("train.ssim_opt.loss_weight", ("0.03", "0.05", "0.1")),
        Choice("train.edge_opt.loss_weight", ("0.05", "0.1", "0.2")),
        Choice("train.balance.dynamic", ("false", "false", "true")),
        Choice("datasets.train.use_rot", ("true", "false")),
        Choice("logger.use", ("text", "progress", "csv", "jsonl", "tensorboard")),
        Choice("logger.print_freq", ("1", "5", "10", "20")),
        Choice("logger.log_lr", ("true", "true", "false")),
        Choice("logger.log_parts", ("true", "true", "false")),
        Choice("logger.log_grad_norm", ("true", "true", "false")),
        Choice("logger.log_time", ("true", "false")),
        Choice("val.val_freq", ("16", "32", "40")),
    ),
    forms=FORMS,
)
