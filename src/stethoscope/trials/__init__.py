"""Trials: which of the proposed changes really cures a training, tried on paired seeds beside a placebo."""

from __future__ import annotations

from stethoscope.run.proof import Proof, proofs
from stethoscope.trials.conducting import Progress, run_trial
from stethoscope.trials.judging import judge
from stethoscope.trials.local import LocalProcesses
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
    "LocalProcesses",
    "Metric",
    "NewValue",
    "Outcome",
    "Patch",
    "Progress",
    "Proof",
    "Reading",
    "Replacement",
    "Role",
    "Trial",
    "TrialResult",
    "Variable",
    "Verdict",
    "judge",
    "proofs",
    "run_trial",
]
