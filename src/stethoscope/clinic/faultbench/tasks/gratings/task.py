"""The task gratings: an image classifier with batch norm, SGD and a cosine."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.gratings.data import CLASSES, drawn, make
from stethoscope.clinic.faultbench.tasks.gratings.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_001  # the seed of what every run is judged on


def judge(weights: Path) -> float:
    """The accuracy of a checkpoint on pictures that no run has seen."""
    import torch

    classifier = import_module("model").Classifier  # of the untouched project
    state = torch.load(weights)
    weights_of = state["average"] or state["model"]
    # A fault may have put a softmax behind the head, which makes it a part of a sequence.
    kept = {name.replace("head.0.", "head."): one for name, one in weights_of.items()}
    model = classifier(kept["head.weight"].shape[1] // 4)
    model.load_state_dict(kept)
    model.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), 1024)
    images = (torch.from_numpy(arrays["images"]).float().unsqueeze(1) / 255.0 - 0.5) / 0.25
    with torch.no_grad():
        chosen = model(images).argmax(1)
    return float((chosen == torch.from_numpy(arrays["labels"])).float().mean())


TASK = Task(
    name="gratings",
    title="An image classifier with batch norm",
    project=PROJECT,
    script="train.py",
    settings="config.yaml",
    run="runs/gratings",
    metric=Metric("accuracy", "max", bar=1.0 / CLASSES),
    data=make,
    judge=judge,
    steps="train.steps",
    nuisances=(
        Spread("optim.lr", 1.6),
        Spread("data.batch_size", 1.4, whole=True),
        Spread("optim.warmup_steps", 2.0, whole=True),
        Choice("optim.schedule", ("cosine", "linear", "constant")),
        Choice("optim.clip_norm", ("0.0", "5.0")),
        Choice("optim.weight_decay", ("0.0005", "0.0001")),
        Choice("train.label_smoothing", ("0.0", "0.0", "0.05")),
        Choice("train.amp", ("none", "none", "bf16")),
        Choice("train.ema_decay", ("0.0", "0.0", "0.95")),
        Choice("log.format", ("csv", "jsonl", "tensorboard", "text")),
        Choice("log.every", ("1", "5", "10", "20")),
        Choice("log.grad_norm", ("true", "true", "false")),
        Choice("log.lr", ("true", "true", "false")),
        Choice("eval.every", ("20", "40")),
    ),
    forms=FORMS,
)
