"""The task denoiser: pictures in noise of every level, with preconditioning and averaged weights."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.denoiser.data import CHANNELS, drawn
from stethoscope.clinic.faultbench.tasks.denoiser.data import make as made
from stethoscope.clinic.faultbench.tasks.denoiser.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
PICTURES = 192
SHRUNK = 18.1  # dB of the best factor for the noisy picture, which is what an untrained network gives


def judge(weights: Path) -> float:
    """The PSNR of the averaged weights over the levels of the project, on pictures no run has seen."""
    import torch

    state = torch.load(weights)
    net, channels = _network(state["ema"]["net"], state["sigma_data"])
    images = torch.from_numpy(drawn(np.random.default_rng(UNSEEN), PICTURES)["images"])
    images = images.permute(0, 3, 1, 2).float() / 127.5 - 1
    generator, more = (torch.Generator().manual_seed(seed) for seed in (UNSEEN, UNSEEN + 1))
    # A fault may have given the network empty channels, which are noisy as all others are.
    empty = torch.zeros(len(images), channels - CHANNELS, *images.shape[2:])
    scores = []
    for level in import_module("validation").LEVELS:
        noisy = images + level * torch.randn(images.shape, generator=generator)
        given = torch.cat([noisy, empty + level * torch.randn(empty.shape, generator=more)], dim=1)
        with torch.no_grad():
            denoised = net(given, torch.full([len(images)], level))[:, :CHANNELS]
        error = (denoised - images).square().mean()
        scores.append(float(10 * torch.log10(4.0 / error)))
    return float(np.mean(scores))


def _network(kept: Any, sigma_data: float) -> tuple[Any, int]:
    """The network of the untouched project, of the size that these weights have, and its channels."""
    width, inputs = kept["model.stem.weight"].shape[:2]
    blocks = 1 + max(int(name.split(".")[2]) for name in kept if name.startswith("model.blocks."))
    channels = inputs // 4
    net = import_module("networks").Denoiser(channels, width, blocks, 0.0, float(sigma_data))
    net.load_state_dict({name: kept[name].float() for name in net.state_dict()})
    return net.eval(), channels


TASK = Task(
    name="denoiser",
    title="An EDM denoiser of small pictures",
    project=PROJECT,
    script="train.py",
    arguments=("--config", "configs/shapes.yaml"),
    settings="configs/shapes.yaml",
    run="out/shapes",
    checkpoints="snapshots/*.pt",
    metric=Metric("psnr", "max", bar=SHRUNK),
    data=made,
    judge=judge,
    steps="steps",
    nuisances=(
        Spread("lr", 1.4),
        Spread("batch", 1.25, whole=True),
        Spread("warmup", 1.6, whole=True),
        Choice("schedule", ("constant", "rsqrt", "cosine")),
        Choice("beta2", ("0.99", "0.99", "0.999")),
        Choice("weight_decay", ("0.0", "0.0", "0.01")),
        Choice("clip", ("0.0", "1.0", "2.0")),
        Choice("amp", ("none", "none", "bf16")),
        Choice("ema_beta", ("0.9", "0.95", "0.97")),
        Choice("ema_power", ("0.67", "0.75", "1.0")),
        Choice("p_mean", ("-1.2", "-1.0")),
        Choice("p_std", ("1.2", "1.0")),
        Choice("hflip", ("true", "false")),
        Choice("tv", ("0.0", "0.0", "0.002")),
        Choice("log_format", ("csv", "jsonl", "tensorboard", "ticks", "bar")),
        Choice("log_every", ("1", "5", "10", "20")),
        Choice("log_lr", ("true", "true", "false")),
        Choice("log_grad_norm", ("true", "true", "false")),
        Choice("log_levels", ("true", "false")),
        Choice("log_bands", ("true", "false", "false")),
        Choice("log_speed", ("true", "false")),
        Choice("val_every", ("15", "30")),
    ),
    forms=FORMS,
)
