"""What stands in for a signal that could not be measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a signal is not there, and the line of code that would log it next time."""

    why: str
    log_this: str = ""


NO_SOURCE = Missing("the training source was not found", log_this="stethoscope RUN --code PATH_TO_SOURCE")
