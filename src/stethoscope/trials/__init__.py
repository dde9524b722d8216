"""Trials: which of the proposed changes really cures a training, tried on paired seeds beside a placebo."""

from __future__ import annotations

from stethoscope.trials.trial import (
    Arm,
    Change,
    Class,
    Comment,
    Edit,
    Effect,
    Ending,
    Flag,
    Limits,
    Metric,
    NewValue,
    Outcome,
    Patch,
    Reading,
    Replacement,
    Role,
    Trial,
    TrialResult,
    Variable,
    Verdict,
)

__all__ = [
    "Arm",
    "Change",
    "Class",
    "Comment",
    "Edit",
    "Effect",
    "Ending",
    "Flag",
    "Limits",
    "Metric",
    "NewValue",
    "Outcome",
    "Patch",
    "Reading",
    "Replacement",
    "Role",
    "Trial",
    "TrialResult",
    "Variable",
    "Verdict",
]
