"""What loss scalers say about their scale, wherever a log has it between its lines.

Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8192.0
[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
... Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1
Increasing dynamic loss scale from 32768.0 to 65536.0
NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 32.0
AMP: overflow detected, setting scale to to 16.0

A scaler is silent while nothing happens, so these are the only points of its scale that most logs have.
apex numbers its scalers, one per loss: the first is `loss_scale`, the others are `loss_scale/1` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stethoscope.logs._reading.numbers import PLAIN_NUMBER, number
from stethoscope.run import Aggregation, Series

NAME = "loss_scale"
LOGGED_AS = "loss scale (messages)"
MOST_SCALERS = 64  # apex has one per loss
MOST_TOLD = 100_000  # points of one scaler; a log that overflows at every step has said enough

_KEPT = re.compile(rf"[Aa]ttempted loss scale:\s*(?P<scale>{PLAIN_NUMBER}),? but hysteresis\b")
_MOVED = re.compile(
    r"(?:loss scaler (?P<scaler>\d{1,4})\b.{0,20})?"
    rf"(?:[Ll]oss[ _]|setting )scale\b[^;]{{0,80}}?\bto\b:?\s*(?P<scale>{PLAIN_NUMBER})"
)


@dataclass(slots=True)
class ScalerMessages:
    """The scales told so far, by scaler: steps, values, and the first and last line."""

    told: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    lines: dict[int, tuple[int, int]] = field(default_factory=dict)

    def see(self, number_of_line: int, line: str, step: int | None) -> None:
        """Note the scales that a line tells; ranks say the same one after the other."""
        for scaler, scale in scales_in(line):
            points = self.told.setdefault(scaler, [])
            if len(points) < MOST_TOLD and points[-1:] != [(step or 0, scale)]:
                points.append((step or 0, scale))
                first = self.lines.get(scaler, (number_of_line, 0))[0]
                self.lines[scaler] = (first, number_of_line)

    def series(self, file: str, known: tuple[Series, ...]) -> tuple[Series, ...]:
        """One series per scaler, unless the log's own lines give the scale at their steps."""
        if any(series.name.split("/")[0] == NAME for series in known):
            return ()
        return tuple(
            Series(
                NAME if nth == 0 else f"{NAME}/{scaler}",
                LOGGED_AS,
                np.array([step for step, _ in points], dtype=np.int64),
                np.array([scale for _, scale in points], dtype=np.float64),
                file,
                Aggregation.INSTANT,
                lines=self.lines[scaler],
            )
            for nth, (scaler, points) in enumerate(sorted(self.told.items()))
        )


def scales_in(line: str) -> Iterator[tuple[int, float]]:
    """The scaler and the scale it has from here on, for every message that a line holds."""
    kept = _KEPT.search(line)
    for found in (kept,) if kept else _MOVED.finditer(line):
        scale = number(found["scale"])
        scaler = int(found.groupdict().get("scaler") or 0)
        if scale is not None and scaler < MOST_SCALERS:
            yield scaler, scale
