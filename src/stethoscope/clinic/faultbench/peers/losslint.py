"""losslint: six checks of a loss, among them steps that go backwards."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import Peer, answer, opinion_of
from stethoscope.clinic.faultbench.plain_log import CSV

# It names no causes: what each of its findings would make a person think of.
MEANS = {
    "nan_inf": (
        "corrupt-batch",
        "loss-numerically-unsafe",
        "learning-rate-too-high",
        "forward-overflow",
        "norm-in-half-precision",
    ),
    "divergence": ("learning-rate-too-high", "clipping-missing", "gradient-growth", "loss-sign-inverted"),
    "loss_spike": ("corrupt-batch", "learning-rate-too-high", "data-shift", "learning-rate-jump"),
    "step_backtrack": (
        "data-replayed-after-resume",
        "optimizer-state-lost",
        "schedule-not-restored",
        "weights-not-restored",
    ),
    "overfit_onset": ("overfitting", "data-repeats"),
    "stagnation": (
        "learning-rate-too-low",
        "parameters-not-updated",
        "schedule-in-wrong-units",
        "scheduler-order-wrong",
    ),
}
ORDER = {"error": 0, "warning": 1, "info": 2}


def arguments(folder: Path) -> tuple[str, ...]:
    """It reads tables, and writes JSON for programs."""
    return "check", str(folder / CSV), "--format", "json"


def understood(printed: str) -> Opinion:
    """Its findings, the worst first; a line that it could not parse is none."""
    told = answer(printed)["findings"]
    found = [(one["check"], one["severity"]) for one in told if one["check"] != "parse"]
    return opinion_of(sorted(found, key=lambda one: ORDER[one[1]]), "error", "warning", MEANS)


PEER = Peer("losslint", "0.4.1", "losslint.cli:main", arguments, understood)
