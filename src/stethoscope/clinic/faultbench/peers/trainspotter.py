"""trainspotter: nine detectors over curves, each with what to try."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.faultbench.opinion import Opinion
from stethoscope.clinic.faultbench.peer import Peer, answer, opinion_of
from stethoscope.clinic.faultbench.plain_log import CSV

# What it proposes to change or to check below each finding, by the finding's title.
MEANS = {
    "Diverged (non-finite values)": (
        "learning-rate-too-high",
        "clipping-missing",
        "gradient-growth",
        "loss-numerically-unsafe",
        "degenerate-batch",
        "forward-overflow",
        "norm-in-half-precision",
    ),
    "Diverged (sustained growth)": (
        "learning-rate-too-high",
        "learning-rate-jump",
        "schedule-not-restored",
        "data-shift",
        "curriculum-too-fast",
    ),
    "Loss spike": (
        "learning-rate-too-high",
        "warmup-too-short",
        "clipping-missing",
        "corrupt-batch",
        "padding-dilutes-loss",
    ),
    "Gradient-norm explosion": (
        "clipping-missing",
        "learning-rate-too-high",
        "corrupt-batch",
        "gradient-growth",
    ),
    "Gradient clipping likely saturated": ("clip-too-tight", "clip-before-unscale", "learning-rate-too-high"),
    "No LR warmup detected": ("warmup-too-short",),
    "LR increased after its peak": ("schedule-not-restored", "learning-rate-jump"),
    "LR discontinuity": ("schedule-not-restored", "learning-rate-jump", "optimizer-state-lost"),
    "Plateau": (
        "learning-rate-too-low",
        "schedule-in-wrong-units",
        "parameters-not-updated",
        "graph-broken",
    ),
    "Overfitting onset": ("overfitting", "data-repeats", "weight-decay-wrong"),
    "Eval metric too noisy to rank checkpoints": ("validation-set-unstable", "checkpoint-chosen-wrongly"),
    "Suspiciously low loss early (heuristic)": ("validation-leak", "data-repeats"),
    "Throughput regression": ("hardware-slowdown",),
}
# It says so of every rate that is constant or only falls: as an alarm, it would call all of them sick.
NOT_AN_ALARM = frozenset({"No LR warmup detected"})


def arguments(folder: Path) -> tuple[str, ...]:
    """It reads tables, and writes JSON for programs."""
    return "analyze", str(folder / CSV), "--output", "json"


def understood(printed: str) -> Opinion:
    """Its findings in its own order, errors first."""
    told = answer(printed)["findings"]
    found = [(one["title"], "info" if one["title"] in NOT_AN_ALARM else one["severity"]) for one in told]
    return opinion_of(found, "error", "warning", MEANS)


PEER = Peer("trainspotter", "0.2.6", "trainspotter.cli:main", arguments, understood)
