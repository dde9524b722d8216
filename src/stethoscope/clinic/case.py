"""A patient of the clinic: a sick training project, what cures it, and what was proposed to cure it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from stethoscope.clinic.edit import Edit


class Role(StrEnum):
    """Why a change is among the trials of a case."""

    CURE = "cure"  # mends what is really wrong
    ADVICE = "advice"  # proposed by one of the write-ups
    PLACEBO = "placebo"  # cannot act: it shows what chance looks like


@dataclass(frozen=True, slots=True)
class Change:
    """Something that could be done to a sick project.

    `claims` are what the write-ups propose, as "004.9": the write-up, and the number that its proposal has
    among their claims. `predicted` are the classes that would be no surprise. `yardstick` says that the
    change moves what is measured.
    """

    name: str
    title: str
    role: Role
    edits: tuple[Edit, ...]
    claims: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    yardstick: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """How large a case is made: edits of its settings, and what one run then takes."""

    name: Literal["ci", "small", "gpu"]
    edits: tuple[Edit, ...]
    seconds: float  # of one core, or of one GPU, for one run


@dataclass(frozen=True, slots=True)
class Metric:
    """What a case is judged by. `bar` is the score that doing nothing reaches."""

    name: str
    goal: Literal["max", "min"]
    unit: str = ""
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One training system, sick as it stands in `project`.

    `command` is for bash, run inside a copy of the project; `{seed}` stands in it for a number. It leaves its
    run in the folder `run`. `evaluate` is run behind it, from an untouched copy of the project, with the
    run's folder in place of `{run}`, and prints the metric as one JSON object on its last line.
    """

    name: str
    title: str
    story: str
    project: Path
    sources: tuple[str, ...]
    command: str
    run: str
    evaluate: str
    metric: Metric
    changes: tuple[Change, ...]
    sizes: tuple[Size, ...]
    exaggerated: tuple[str, ...]  # what was done to make it sick in minutes
    needs: tuple[str, ...] = ("torch", "safetensors")  # modules that are not part of a plain installation
    benign: bool = False  # looks alarming, and nothing is wrong
