"""RSL-RL's blocks, one per iteration: legged_gym, Isaac Lab.

    ################################################################################
                          Learning iteration 5/1500

                           Computation: 12345 steps/s (collection: 0.123s, learning 0.045s)
                   Value function loss: 2.4678
                        Surrogate loss: -0.0123
                           Mean reward: 2.10
    Metrics/base_velocity/error_vel_xy: 0.4321
    --------------------------------------------------------------------------------
                       Total timesteps: 491520
                        Iteration time: 0.17s

The header's iteration is the step of all that stands below it.
"""

from __future__ import annotations

import re

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import PLAIN_NUMBER
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "RSL-RL blocks"

ALIGNED = 28  # the column from which on colons stand, also behind names that are longer than the others

_HEADER = re.compile(r"\s*Learning iteration\s+(?P<step>\d{1,12})\s*/\s*(?P<total>\d{1,12})\s*")
_VALUE = re.compile(
    rf"(?P<blank>\s*)(?P<name>[A-Za-z][^:]{{0,100}}):\s+(?P<value>{PLAIN_NUMBER})(?P<unit>s|\s+steps/s.*)?\s*"
)
_CLOCKS = frozenset({"Total time", "ETA", "Time elapsed"})


def recognise(head: Head) -> float:
    """Headers of iterations with aligned values below."""
    if head.binary or head.prose or "Learning iteration" not in head.ends:
        return 0.0
    headers = sum(times for line, times in head.shapes if _HEADER.fullmatch(line))
    values = sum(times for line, times in head.shapes if _value(line))
    return 0.0 if not headers or values < 2 else 0.9 if headers > 1 else 0.6


def begin(head: Head) -> TextReading:
    """Every block."""
    return TextReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN)


def _step_line(line: str) -> StepLine | None:
    header = _HEADER.fullmatch(line)
    if header is not None:
        return StepLine((), header.span("step"), header.span("total"))
    found = _value(line)
    if found is None:
        return None
    # Metrics of the environments that are trained in: without the word, which elsewhere means validation.
    name = "steps/s" if found["name"] == "Computation" else found["name"].removeprefix("Metrics/")
    return StepLine(((name, *found.span("value")),))


def _value(line: str) -> re.Match[str] | None:
    found = _VALUE.fullmatch(line[:400])
    if found is None or found["name"] in _CLOCKS:
        return None
    return found if found.end("name") >= ALIGNED else None
