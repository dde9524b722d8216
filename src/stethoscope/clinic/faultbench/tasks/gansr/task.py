"""The task gansr: super-resolution with a pixel loss first and a discriminator afterwards."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.gansr.data import drawn, make
from stethoscope.clinic.faultbench.tasks.gansr.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
TEXTURE = 2.0  # what a dB of wrong texture costs, in dB of PSNR


def judge(weights: Path) -> float:
    """PSNR minus twice the texture distance, both in dB, on scenes that no run has seen.

    Bicubic pictures score -4.2. The pixel loss alone gets to about 3, since it leaves rough material smooth;
    with the discriminator texture comes back and costs little PSNR.
    """
    import torch

    state = torch.load(weights)
    kept: dict[str, Any] = state["net_g_ema"] or state["net_g"]
    blocks = {name.split(".")[1] for name in kept if name.startswith("body.")}
    net = import_module("archs").SRGenerator(kept["conv_first.weight"].shape[0], len(blocks))
    net.load_state_dict({name: one.float() for name, one in kept.items()})
    net.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), 256)
    lr, hr = (torch.from_numpy(arrays[key]).float().unsqueeze(1) / 255.0 for key in ("lr", "hr"))
    metrics = import_module("metrics")  # of the untouched project
    with torch.no_grad():
        fake = net(lr)
        score = metrics.psnr(fake, hr) - TEXTURE * metrics.texture_distance(fake, hr)
    return float(score.mean())


TASK = Task(
    name="gansr",
    title="Super-resolution with a generator and a discriminator",
    project=PROJECT,
    script="main.py",
    settings="options.yml",
    run="experiments/materials_x2",
    metric=Metric("psnr_minus_texture_distance", "max", bar=-4.2),
    logs="psnr",
    data=make,
    judge=judge,
    steps="train.total_iter",
    checkpoints="training_states/*.state",
    nuisances=(
        Spread("train.lr_g", 1.35),
        Spread("train.lr_d", 1.35),
        Spread("datasets.batch_size", 1.3, whole=True),
        Spread("train.warmup_iter", 2.0, whole=True),
        Spread("train.r1_weight", 1.4),
        Spread("train.gan_weight", 1.2),
        Choice("datasets.use_flip", ("true", "true", "false")),
        Choice("train.scheduler", ("cosine", "multistep", "constant")),
        Choice("train.grad_clip", ("0.0", "1.0", "5.0")),
        Choice("train.weight_decay", ("0.0", "0.0", "0.01")),
        Choice("train.gan_type", ("hinge", "vanilla")),
        Choice("train.ema_decay", ("0.0", "0.0", "0.95")),
        Choice("train.precision", ("fp32", "fp32", "bf16")),
        Choice("logger.kind", ("csv", "jsonl", "tensorboard", "text", "bar")),
        Choice("logger.print_freq", ("1", "4", "8", "12")),
        Choice("logger.show_lr", ("true", "true", "false")),
        Choice("logger.show_grad_norm", ("true", "true", "false")),
        Choice("logger.show_parts", ("true", "true", "false")),
        Choice("logger.show_speed", ("true", "false")),
        Choice("val.val_freq", ("10", "20")),
    ),
    forms=FORMS,
)
