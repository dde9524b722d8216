"""A checkpoint on disk, known by its name and header; nothing is unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Holds(StrEnum):
    """What a checkpoint file contains, as far as its name and header tell."""

    WEIGHTS = "weights"
    EMA_WEIGHTS = "ema weights"
    TRAINING_STATE = "training state"
    EVERYTHING = "weights and training state"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint file (or folder) and the step it was saved at, None where the name does not tell.

    `epoch` is the one that the name gives; in a run that counts epochs only, it is the step.
    """

    file: str
    step: int | None
    holds: Holds = Holds.UNKNOWN
    size_bytes: int = 0
    readable: bool = True
    note: str = ""
    epoch: int | None = None
