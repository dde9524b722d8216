"""The task segments: a U-Net that names every pixel of stained tiles."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.task import Choice, Spread, Task
from stethoscope.clinic.faultbench.tasks.segments.data import drawn, make
from stethoscope.clinic.faultbench.tasks.segments.faults import FORMS

PROJECT = Path(__file__).parent / "project"
UNSEEN = 9_000_007  # the seed of what every run is judged on
JUDGED = 256
ALL_BACKGROUND = 0.147  # the mean IoU of who names every pixel background


def judge(weights: Path) -> float:
    """The mean IoU of a snapshot, on tiles that no run has seen."""
    import torch

    unet, scores, tiles = (import_module(name) for name in ("unet", "scores", "tiles"))  # untouched
    snap = torch.load(weights)
    told = snap["shadow"] or snap["net"]
    # A fault may have put a head into a sequence, or weights into half precision.
    state = {name.replace("head.0.", "head."): one.float() for name, one in told.items()}
    width, norm = state["enc1.0.weight"].shape[0], snap["exp"]["net"]["norm"]
    net = unet.UNet(len(tiles.CLASSES), width, norm)
    net.load_state_dict({name: state[name] for name in net.state_dict()})
    net.eval()
    arrays = drawn(np.random.default_rng(UNSEEN), JUDGED)
    tile = (torch.from_numpy(arrays["tile"]).float().unsqueeze(1) / 255.0 - tiles.MEAN) / tiles.STD
    with torch.no_grad():
        pred = net(tile)[0].argmax(dim=1)
    matrix = scores.confusion(pred, torch.from_numpy(arrays["mask"]).long())
    return float(scores.ious(matrix).nanmean())


TASK = Task(
    name="segments",
    title="A U-Net that segments stained tiles",
    project=PROJECT,
    script="fit.py",
    settings="exp.yaml",
    run="runs/unet_tiles",
    metric=Metric("mean IoU", "max", bar=ALL_BACKGROUND),
    logs="iou",
    data=make,
    judge=judge,
    steps="train.max_iters",
    checkpoints="snapshots/*.pt",
    nuisances=(
        Choice("optim.kind", ("adamw", "adamw", "sgd")),
        Spread("optim.adamw.lr", 1.4),
        Spread("optim.sgd.lr", 1.4),
        Spread("data.batch", 1.25, whole=True),
        Spread("sched.warmup_iters", 1.6, whole=True),
        Choice("sched.shape", ("poly", "poly", "onecycle", "cosine")),
        Choice("optim.clip", ("2.0", "5.0", "0.0")),
        Choice("optim.weight_decay", ("0.0005", "0.01", "0.0")),
        Choice("net.norm", ("batch", "batch", "group")),
        Choice("net.dropout", ("0.0", "0.0", "0.05")),
        Spread("loss.aux", 1.5),
        Choice("loss.aux_balance", ("false", "false", "true")),
        Choice("loss.dice", ("1.0", "0.5", "1.0")),
        Choice("augment.gain", ("0.1", "0.2")),
        Choice("train.amp", ("none", "none", "bf16")),
        Choice("train.ema", ("0.0", "0.0", "0.9")),
        Choice("train.accumulate", ("1", "1", "2")),
        Choice("log.to", ("csv", "jsonl", "tensorboard", "text", "epochs")),
        Choice("log.every", ("0", "1", "6", "12")),
        Choice("log.lr", ("true", "true", "false")),
        Choice("log.grad_norm", ("true", "true", "false")),
        Choice("log.parts", ("true", "false")),
        Choice("log.seconds", ("true", "false")),
        Choice("log.class_iou", ("true", "false")),
    ),
    forms=FORMS,
)
