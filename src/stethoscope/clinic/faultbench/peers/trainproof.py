"""trainproof: a verdict of pass, warn or fail from a log, with evidence for each finding."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import NoAnswer, Peer, answer, opinion_of
from stethoscope.clinic.faultbench.plain_log import CSV

_DEAD = (
    "parameters-not-updated",
    "graph-broken",
    "learning-rate-too-low",
    "labels-wrong",
    "scheduler-order-wrong",
    "schedule-in-wrong-units",
)
# What its messages and its documentation say of each finding.
MEANS = {
    "TP-NAN": (
        "corrupt-batch",
        "loss-numerically-unsafe",
        "learning-rate-too-high",
        "forward-overflow",
        "norm-in-half-precision",
    ),
    "TP-NAN-GRAD": ("forward-overflow", "loss-scale-bypassed", "no-master-weights", "norm-in-half-precision"),
    "TP-ZERO-LOSS": ("padding-dilutes-loss", "labels-wrong"),
    "TP-ZERO-LOSS-ONSET": ("forward-overflow", "loss-scale-bypassed", "no-master-weights"),
    "TP-FLAT": _DEAD,
    "TP-DEAD-RUN": _DEAD,
    "TP-DIVERGE": ("learning-rate-too-high", "clipping-missing", "gradient-growth", "loss-sign-inverted"),
    "TP-ZERO-GRAD": ("graph-broken", "parameters-not-updated", "gradient-underflow"),
    "TP-GRAD-SPIKE": ("clipping-missing", "learning-rate-too-high", "corrupt-batch", "gradient-growth"),
    "TP-ZERO-LR": ("scheduler-order-wrong", "schedule-in-wrong-units", "learning-rate-too-low"),
    "TP-ZERO-LR-PARTIAL": ("schedule-in-wrong-units", "learning-rate-too-low"),
    "TP-OVERFIT": ("overfitting", "data-repeats"),
    "TP-STEP-CLIFF": ("hardware-slowdown",),
    "TP-LOADER-BOUND": ("hardware-slowdown",),
}
UNREAD = frozenset({"TP-NO-RECORDS", "TP-NO-LOSS", "TP-NOT-CHECKED"})
ORDER = {"FAIL": 0, "WARN": 1}


def arguments(folder: Path) -> tuple[str, ...]:
    """It reads tables, and writes JSON for programs."""
    return "doctor", str(folder / CSV), "--json"


def understood(printed: str) -> Opinion:
    """Its findings, the failures first; that it could not judge a log is no verdict."""
    told = [one for report in answer(printed)["reports"] for one in report["findings"]]
    if not told or UNREAD & {one["id"] for one in told}:
        raise NoAnswer("it did not judge the log")
    found = [(one["id"], one["level"]) for one in told if one["level"] in ORDER]
    return opinion_of(sorted(found, key=lambda one: ORDER[one[1]]), "FAIL", "WARN", MEANS)


PEER = Peer("trainproof", "0.22.0", "trainproof.cli:main", arguments, understood)
