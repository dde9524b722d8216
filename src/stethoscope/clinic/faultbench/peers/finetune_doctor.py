"""finetune-doctor: for what the HF trainer logs; which checkpoint to keep, and whether the run went well."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import Peer, answer, opinion_of
from stethoscope.clinic.faultbench.plain_log import TRAINER_STATE

# What it proposes to change or to check below each finding.
MEANS = {
    "overfitting": ("overfitting", "data-repeats", "learning-rate-too-high"),
    "metric_disagreement": ("objective-metric-mismatch", "metric-wrong"),
    "loss_degenerate": (
        "forward-overflow",
        "learning-rate-too-high",
        "clipping-missing",
        "loss-numerically-unsafe",
        "padding-dilutes-loss",
    ),
    "not_learning": (
        "learning-rate-too-low",
        "parameters-not-updated",
        "graph-broken",
        "weights-not-restored",
        "data-not-shuffled",
    ),
    "loss_spikes": (
        "warmup-too-short",
        "learning-rate-too-high",
        "corrupt-batch",
        "data-not-shuffled",
        "data-repeats",
    ),
    "lr_schedule": ("schedule-in-wrong-units", "schedule-not-restored", "learning-rate-too-low"),
    "gradients": (
        "forward-overflow",
        "norm-in-half-precision",
        "learning-rate-too-high",
        "clipping-missing",
        "parameters-not-updated",
        "graph-broken",
    ),
    "eval_below_train": ("validation-leak", "validation-not-comparable", "left-in-eval-mode"),
}
ORDER = {"CRITICAL": 0, "WARNING": 1, "INFO": 2}
# That a run logs no validation says nothing about what went wrong with it.
NOT_A_FINDING = frozenset({"no_eval", "incomplete"})


def arguments(folder: Path) -> tuple[str, ...]:
    """It reads the history that the HF trainer keeps."""
    return "diagnose", str(folder / TRAINER_STATE), "--format", "json"


def understood(printed: str) -> Opinion:
    """Its findings, the critical ones first."""
    told = answer(printed)["findings"]
    found = [(one["check"], one["severity"]) for one in told if one["check"] not in NOT_A_FINDING]
    ranked = sorted((one for one in found if one[1] in ORDER), key=lambda one: ORDER[one[1]])
    return opinion_of(ranked, "CRITICAL", "WARNING", MEANS)


PEER = Peer("finetune-doctor", "0.2.2", "finetune_doctor.cli:main", arguments, understood)
