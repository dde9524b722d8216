"""The task deblur: an FFT deblurring transformer under fp16 autocast with a loss scaler."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.deblur.data import drawn, make
from stethoscope.clinic.faultbench.tasks.deblur.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_002  # the seed of what every run is judged on
JUDGED = 64
BLURRED_PSNR = 26.54  # of what every run is judged on, as the lens left it


def judge(weights: Path) -> float:
    """The PSNR of a checkpoint, in float32, on pictures that no run has seen."""
    import torch

    measured = import_module("objective").psnr  # of the untouched project
    kept = torch.load(weights)
    state: dict[str, Any] = {name: one.float() for name, one in (kept["average"] or kept["net"]).items()}
    width = state["enter.weight"].shape[0]
    patch = state["blocks.0.mlp.filter"].shape[-2]
    blocks = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))
    net = import_module("net").Deblur(width, blocks, patch)
    # A fault may have added weights of its own, which the untouched network does not have.
    net.load_state_dict({name: state[name] for name in net.state_dict()})
    net.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), JUDGED)
    blurred, sharp = (
        torch.from_numpy(arrays[name]).float().unsqueeze(1) / 255.0 for name in ("blurred", "sharp")
    )
    with torch.no_grad():
        return float(measured(net(blurred), sharp).mean())


TASK = Task(
    name="deblur",
    title="A deblurring transformer under fp16 autocast",
    project=PROJECT,
    script="restore.py",
    settings="settings.json",
    run="out/fft_small",
    metric=Metric("PSNR", "max", bar=BLURRED_PSNR),
    data=make,
    judge=judge,
    steps="train.iterations",
    checkpoints="states/*.pt",
    nuisances=(
        Spread("optimizer.rate", 1.25),
        Spread("data.batch", 1.3, whole=True),
        Spread("optimizer.warmup", 1.6, whole=True),
        Choice("optimizer.schedule", ('"cosine"', '"linear"', '"steps"')),
        Choice("optimizer.clip", ("1.0", "1.0", "0.0", "5.0")),
        Choice("optimizer.weight_decay", ("0.0001", "0.0", "0.01")),
        Choice("optimizer.eps", ("1e-8", "1e-8", "1e-9")),
        Choice("loss.weight", ("1.0", "1.0", "0.1", "10.0")),
        Choice("amp.enabled", ("true", "true", "true", "false")),
        Choice("amp.init_scale", ("8192.0", "65536.0", "1024.0")),
        Choice("amp.growth_interval", ("60", "40", "100")),
        Choice("train.average", ("0.0", "0.0", "0.9")),
        Choice("validate.every", ("32", "32", "16")),
        Choice("journal.kind", ('"csv"', '"jsonl"', '"tensorboard"', '"log"', '"bar"')),
        Choice("journal.every", ("1", "4", "8", "16")),
        Choice("journal.rate", ("true", "true", "false")),
        Choice("journal.gradient", ("true", "true", "false")),
        Choice("journal.loss_scale", ("true", "true", "true", "false")),
        Choice("journal.parts", ("true", "false")),
        Choice("journal.seconds", ("true", "false")),
    ),
    forms=FORMS,
)
