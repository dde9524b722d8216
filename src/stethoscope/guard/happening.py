"""What Guard tells of: something was seen, what it means, and what to try first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What happened. The value is the name in the flight record; published names stay."""

    NON_FINITE_INPUT = "non-finite-input"
    NON_FINITE_LOSS = "non-finite-loss"
    NON_FINITE_GRADIENT = "non-finite-gradient"
    GRADIENT_SPIKE = "gradient-spike"
    LOSS_SPIKE = "loss-spike"
    LASTING_SPIKE = "lasting-spike"
    DIVERGENCE = "divergence"
    LEVEL_SHIFT = "level-shift"
    SCALE_FALLING = "loss-scale-falling"
    SCALE_AT_FLOOR = "loss-scale-at-floor"
    SKIP_BUDGET = "skip-budget-spent"
    THRESHOLD = "threshold-crossed"
    WEIGHTS_STAND_STILL = "weights-stand-still"
    LEARNING_RATE_ZERO = "learning-rate-zero"
    GRADIENTS_NOT_CLEARED = "gradients-not-cleared"
    PARAMETERS_LEFT_OUT = "parameters-left-out"
    CHECKPOINT_SAVED = "checkpoint-saved"
    BAD_CHECKPOINT = "bad-checkpoint"
    REWOUND = "rewound"
    RESUMED = "resumed"
    STOPPED = "stopped"
    CULPRIT = "culprit"
    CALLS_FORGOTTEN = "calls-not-remembered"
    BLACK_BOX = "black-box-written"
    GUARD_FAILED = "guard-failed"
    OBSERVES_ONLY = "observes-only"
    WAITS = "waits-for-the-device"
    CANNOT_REWIND = "cannot-rewind"


class Severity(StrEnum):
    """How bad it is: a note is written down, a warning is told, a critical one also ends in an action."""

    NOTE = "note"
    WARNING = "warning"
    CRITICAL = "critical"


class Answer(StrEnum):
    """What the judge asks for; in mode "observe" it is told and not done."""

    NONE = "none"
    REWIND = "rewind"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened at a step. `facts` are numbers and names for programs.

    `onset` is the step at which it began, where that is earlier.
    """

    kind: Kind
    step: int
    severity: Severity
    seen: str
    means: str = ""
    try_first: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    answer: Answer = Answer.NONE
    onset: int | None = None

    def text(self) -> str:
        """The whole message in one paragraph."""
        parts = (self.seen, self.means, f"Try first: {self.try_first}" if self.try_first else "")
        return " ".join(part for part in parts if part)
