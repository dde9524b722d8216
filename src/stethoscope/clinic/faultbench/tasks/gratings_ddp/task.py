"""The task gratings_ddp: the classifier of gratings, trained by two processes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.gratings.data import CLASSES, drawn, make
from stethoscope.clinic.faultbench.tasks.gratings_ddp.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_001  # the seed of what every run is judged on


def judge(weights: Path) -> float:
    """The accuracy of a checkpoint on pictures that no run has seen."""
    import torch

    kept = torch.load(weights)["net"]
    net = import_module("network").GratingNet(kept["fc.weight"].shape[1] // 4, CLASSES)
    net.load_state_dict(kept)
    net.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), 1024)
    x = (torch.from_numpy(arrays["images"]).float()[:, None] - 127.5) / 64.0
    with torch.no_grad():
        chosen = net(x).argmax(dim=1)
    return float((chosen == torch.from_numpy(arrays["labels"])).float().mean())


TASK = Task(
    name="gratings_ddp",
    title="An image classifier that two processes train together",
    project=PROJECT,
    script="train_ddp.py",
    settings="ddp.yaml",
    run="output/gratings_ddp",
    metric=Metric("accuracy", "max", bar=1.0 / CLASSES),
    data=make,
    judge=judge,
    steps="run.max_steps",
    checkpoints="ckpt/*.pt",
    processes=2,
    nuisances=(
        Spread("optimizer.base_lr", 1.5),
        Spread("loader.batch_per_process", 1.3, whole=True),
        Spread("schedule.warmup", 2.0, whole=True),
        Spread("loader.noise", 1.5),
        Choice("schedule.kind", ("cosine", "poly", "constant")),
        Choice("optimizer.max_grad_norm", ("0.0", "5.0")),
        Choice("optimizer.weight_decay", ("0.0005", "0.0001")),
        Choice("run.label_smoothing", ("0.0", "0.0", "0.05")),
        Choice("run.eval_interval", ("12", "20", "24")),
        Choice("report.backend", ("csv", "jsonl", "tensorboard", "text")),
        Choice("report.interval", ("1", "5", "10")),
        Choice("report.with_lr", ("true", "true", "false")),
        Choice("report.with_grad_norm", ("true", "true", "false")),
        Choice("report.with_ranks", ("true", "false")),
        Choice("report.with_throughput", ("true", "false")),
    ),
    forms=FORMS,
)
