"""runmedic: 13 checks of curves and of lines in logs, with likely causes for each."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import NoAnswer, Peer, answer, opinion_of
from stethoscope.clinic.faultbench.plain_log import CSV

# The causes that its report lists below each finding.
MEANS = {
    "non_finite": (
        "learning-rate-too-high",
        "warmup-too-short",
        "clipping-missing",
        "gradient-growth",
        "corrupt-batch",
        "loss-numerically-unsafe",
        "init-too-large",
        "attention-logit-growth",
        "forward-overflow",
        "norm-in-half-precision",
        "schedule-in-wrong-units",
    ),
    "divergence": (
        "learning-rate-too-high",
        "learning-rate-not-decayed",
        "clipping-missing",
        "optimizer-eps-underflow",
        "weight-decay-wrong",
        "data-not-shuffled",
        "data-shift",
    ),
    "no_learning": (
        "parameters-not-updated",
        "graph-broken",
        "gradients-not-cleared",
        "learning-rate-too-low",
        "labels-wrong",
        "scheduler-order-wrong",
        "schedule-in-wrong-units",
    ),
    "overfitting": ("overfitting", "data-repeats"),
    "loss_spikes": (
        "corrupt-batch",
        "labels-wrong",
        "learning-rate-too-high",
        "warmup-too-short",
        "clipping-missing",
    ),
    "grad_spikes": (
        "learning-rate-too-high",
        "warmup-too-short",
        "corrupt-batch",
        "clipping-missing",
        "attention-logit-growth",
        "gradient-growth",
    ),
    "val_below_train": ("validation-leak", "validation-not-comparable", "left-in-eval-mode"),
    "constant_lr_plateau": ("learning-rate-not-decayed",),
    "input_bound": ("hardware-slowdown",),
    "slow_steps": ("hardware-slowdown",),
    "slowdown": ("hardware-slowdown",),
    "memory_growth": ("graph-kept-in-memory",),
    "log:amp_overflow": ("forward-overflow", "norm-in-half-precision"),
}


def arguments(folder: Path) -> tuple[str, ...]:
    """It reads tables, and writes JSON for programs."""
    return "diagnose", str(folder / CSV), "--json"


def understood(printed: str) -> Opinion:
    """Its findings in its own order, the critical ones first."""
    runs = answer(printed)
    if not runs or "train_loss" not in runs[0]["roles"]:
        raise NoAnswer("it found no training loss")
    found = [(one["check"], one["severity"]) for run in runs for one in run["findings"]]
    return opinion_of(found, "critical", "warning", MEANS)


PEER = Peer("runmedic", "0.1.1", "runmedic.cli:main", arguments, understood)
