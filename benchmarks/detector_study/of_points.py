"""Detectors that judge single points: spikes, alone and with the tail that they are held against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from detector_study.curves import NOISES, Generator, Rows
from detector_study.study import Cell, Study
from stethoscope.detectors.aftermath import Grade, follow
from stethoscope.detectors.spike import scan
from stethoscope.findings import apply, rule_named
from stethoscope.run import Run, Series
from stethoscope.signals import Missing, measure

LENGTH = 2000
AT = 1500  # where a spike is planted
FALSE_ALARMS = 0.1  # as the rule on spikes has it, per series
KINDS: dict[str, tuple[str, float]] = {
    "normal 3 %": ("white", 0.03),
    "AR(1) 0.9, 3 %": ("AR(1) 0.9", 0.03),
    "Student t3, 3 %": ("Student t3", 0.03),
    "fading 3 %": ("fading", 0.03),
    "log-normal sd 0.25": ("white", 0.25),
    "log-normal sd 0.34": ("white", 0.34),
    "log-normal sd 0.6": ("white", 0.6),
}


def studies() -> tuple[Study, ...]:
    """The studies of this file."""
    return (
        _study("spike", "does a value stand far above its level (per series of 2,000)", _spikes),
        _study(
            "spike beyond its tail",
            "does the rule on spikes speak, beyond the series' own tail",
            _is_reported,
        ),
        _study("lasting spike", "does the level stay up", _lasts),
    )


def _study(name: str, question: str, says: Callable[[Rows], bool]) -> Study:
    return Study(
        name,
        question,
        FALSE_ALARMS if name == "spike beyond its tail" else None,
        says,
        tuple(Cell(kind, LENGTH, _draw(kind, 1.0, 1)) for kind in KINDS),
        tuple(
            Cell(f"{factor:g} times for {length} points, {kind}", LENGTH, _draw(kind, factor, length))
            for kind in KINDS
            for factor, length in ((1.5, 1), (3.0, 1), (3.0, 40))
        ),
        repeats=200,
    )


def _draw(kind: str, factor: float, length: int) -> Callable[[Generator, int], Rows]:
    noise, sd = KINDS[kind]

    def draw(rng: Generator, rows: int) -> Rows:
        values = np.exp(sd * NOISES[noise](rng, rows, LENGTH))
        values[:, AT : AT + length] *= factor
        return values

    return draw


def _spikes(y: Rows) -> bool:
    return bool(scan(y).spikes.any())


def _is_reported(y: Rows) -> bool:
    """As the rule has it: spikes that the tail of the series explains are left out."""
    series = Series("loss", "loss", np.arange(len(y)), y)
    outcome = apply(rule_named("loss-spike"), measure(Run("run", "run", series={"loss": series})))
    return not isinstance(outcome, Missing) and len(outcome) > 0


def _lasts(y: Rows) -> bool:
    return any(
        one.grade >= Grade.RECOVERED
        for one in follow(np.arange(len(y)), y, scan(y))
        if one.until - one.at > 8
    )
