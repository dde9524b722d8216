"""What is held out, decided before anything was fitted, and never looked at while fitting.

Some trainings are never tuned on. At first these were two of eight with their variant of several processes,
`TASKS`. The places of the faults were chosen by them, and the plan keeps to that set, so that no run changes.
On 2026-11-19 chargpt and its variant were opened (`OPENED`), and two trainings were added that were written
without looking at any rule (`ADDED`). Of the operators one in five is held out, by a hash of its name and not
by choice. Of three ways to write a fault one is held out. All of an opened training may be looked at; those
held-out operators that were seen missed in it are no longer held out anywhere (`SEEN`).
"""

from __future__ import annotations

import zlib
from enum import StrEnum

from stethoscope.clinic.faultbench.label import Label

TASKS = frozenset({"chargpt", "chargpt_ddp", "denoiser"})  # by which the plan chose its places
OPENED = frozenset({"chargpt", "chargpt_ddp"})  # of these, tuned on since 2026-11-19
ADDED = frozenset({"translator", "segments"})  # held out since 2026-11-19
SEALED = (TASKS - OPENED) | ADDED
SEEN = frozenset(
    {
        "ema-too-slow",
        "gradients-not-synchronised",
        "graph-broken",
        "metric-aggregation-wrong",
        "schedule-in-wrong-units",
        "weights-not-restored",
    }
)
ONE_IN = 5


class Part(StrEnum):
    """Which part of the bench a run belongs to."""

    TUNING = "tuning"
    HELD_OUT = "held out"  # its operator, or the way it is written; or an odd seed where nothing is planted
    NEW_TASK = "new task"


def is_held_out(operator: str) -> bool:
    """Whether an operator is never tuned on."""
    return zlib.crc32(operator.encode()) % ONE_IN == 0 and operator not in SEEN


def part_of(label: Label) -> Part:
    """The part that a run belongs to; runs in which nothing is wrong are divided by their seeds."""
    if label.task in SEALED:
        return Part.NEW_TASK
    if label.task in OPENED:
        return Part.TUNING
    if any(fault.held_out or is_held_out(fault.operator) for fault in label.faults):
        return Part.HELD_OUT
    if not label.is_sick and label.seed % 2:
        return Part.HELD_OUT
    return Part.TUNING
