r"""What Keras prints while it fits, with its bar or without.

Epoch 1/10
  10/1875 [..............................] - ETA: 3s - loss: 0.3100 - accuracy: 0.9000
1875/1875 [==============================] - 3s 2ms/step - loss: 0.21 - accuracy: 0.93 - val_loss: 0.2
1875/1875 ━━━━━━━━━━━━━━━━━━━━ 3s 2ms/step - accuracy: 0.9300 - loss: 0.2100 - val_loss: 0.2
1875/1875 - 3s - 2ms/step - loss: 0.2100 - accuracy: 0.9300

Bars overprint each other by carriage returns or backspaces. The values are means since the epoch began, and
a bar that no `Epoch` heads is an evaluation after the fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import LAST_STEP, NUMBER
from stethoscope.logs._text.chunk import Column, Decoded, Lines, Stepped
from stethoscope.logs._text.columns import Integers
from stethoscope.logs._text.finish import Finished, with_validations_ended
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Aggregation

FORMAT = "Keras progress"

Mask = npt.NDArray[np.bool_]

_HEADER = re.compile(r"\s*Epoch (?P<epoch>\d{1,9})/\d{1,9}\s*")
_BAR = re.compile(
    r"[\s\b]*+(?P<done>\d{1,12})/(?P<all>\d{1,12}|Unknown|\?)\s*+"
    r"(?:\[[=>.]{0,200}\]|[^\x00-\x7f][^\x00-\x7f\s]{0,200})?\s*+-?\s*+"
    r"(?:ETA: )?(?:\d{1,9}[dhms]|\d{1,9}:\d\d)[^-]{0,40}(?=- )"
)
_FIELD = re.compile(rf"- (?P<name>[A-Za-z_][\w ./@()]{{0,80}}+): (?P<value>{NUMBER})(?=\s|$|\x08)")
# What a line holds besides its values; no metric has such a name.
_DONE, _ALL, _EPOCH = "(done)", "(all)", "(epoch)"


def recognise(head: Head) -> float:
    """Headers of epochs, and bars with values behind them."""
    if head.binary or head.prose:
        return 0.0
    lines = [(found.values[0][0], times) for line, times in head.shapes if (found := _line(line))]
    bars = sum(times for first, times in lines if first == _DONE)
    headers = any(first == _EPOCH for first, _ in lines)
    return 0.9 if bars and headers else 0.4 if bars > 1 else 0.0


def begin(head: Head) -> Finished:
    """The values of every bar."""
    text = TextReading(head, FORMAT, _line, Aggregation.RUNNING_MEAN, place=_Fit().place)
    return Finished(text, (with_validations_ended,))


def _line(line: str) -> StepLine | None:
    """A bar or a header; their steps follow from both."""
    if header := _HEADER.fullmatch(line):
        return StepLine(((_EPOCH, *header.span("epoch")),))
    bar = _BAR.match(line)
    if bar is None:
        return None
    values = [(found["name"], *found.span("value")) for found in _FIELD.finditer(line, bar.end())]
    counts = [(_DONE, *bar.span("done"))]
    if bar["all"].isdigit():
        counts.append((_ALL, *bar.span("all")))
    return StepLine((*counts, *values)) if values else None


@dataclass(slots=True)
class _Fit:
    """How far the fit is: the epoch that was headed last, the steps of those before, and its own."""

    epoch: int | None = None
    before: int | None = 0  # None where the first epoch of the log is not the first of the fit
    done: int = 0
    length: int | None = None  # of the epoch, as its first bar says; -1 for unknown

    def place(self, lines: Lines, found: Decoded) -> None:
        """Give each bar its step, and set apart those that are not an epoch's."""
        size = len(lines.starts)
        done, length, epochs = (_on_lines(found, name, size) for name in (_DONE, _ALL, _EPOCH))
        bars, headers = np.flatnonzero(done >= 0), np.flatnonzero(epochs >= 0)
        steps, fitted = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        bounds = [0, *np.searchsorted(bars, headers).tolist(), len(bars)]
        for nth, (first, last) in enumerate(pairwise(bounds)):
            if nth:
                self._begin(int(epochs[headers[nth - 1]]))
            at = bars[first:last]
            if len(at):
                steps[at], fitted[at] = self._walk(done[at], length[at])
        if len(bars):
            found.stepped.append(Stepped(bars, steps[bars], np.zeros_like(bars)))
        found.columns[:] = [
            part
            for column in found.columns
            if column.name not in {_DONE, _ALL, _EPOCH}
            for part in _apart(column, steps, fitted)
        ]

    def _begin(self, epoch: int) -> None:
        if self.epoch is not None and epoch == self.epoch + 1:
            self.before = min((self.before or 0) + self.done, LAST_STEP // 2)
        else:  # the log's first epoch, or another fit
            self.before = 0 if epoch == 1 else None
        self.epoch, self.done, self.length = epoch, 0, None

    def _walk(self, done: Integers, length: Integers) -> tuple[Integers, Mask]:
        """The steps of some bars of one epoch, and whether they are the epoch's: its counter never falls."""
        if self.epoch is None:
            return np.zeros_like(done), np.zeros(len(done), np.bool_)
        if self.length is None:
            self.length = int(length[0])
        if self.before is None:
            self.before = min((self.epoch - 1) * max(self.length, 0), LAST_STEP // 2)
        own = length == self.length
        reached = np.maximum(np.maximum.accumulate(np.where(own, done, 0)), self.done)
        self.done = int(reached[-1])
        return self.before + reached, own & (done >= reached)


def _on_lines(found: Decoded, name: str, size: int) -> Integers:
    """A count of every line that has it; -1 for the others."""
    counts = np.full(size, -1, np.int64)
    for column in found.columns:
        if column.name == name:
            counts[column.at] = column.values.astype(np.int64)
    return counts


def _apart(column: Column, steps: Integers, fitted: Mask) -> list[Column]:
    """The values of the fit, and those of an evaluation after it."""
    fit = fitted[column.at]
    parts = [(column.name, fit), (f"test/{column.name}", ~fit)]
    return [
        Column(name, column.axis, column.at[kept], steps[column.at[kept]], column.values[kept])
        for name, kept in parts
        if kept.any()
    ]
