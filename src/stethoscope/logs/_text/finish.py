"""What is done to a text log once its lines are read: what only the whole of a series tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Log, Series

Finish = Callable[[Log], Log]


@dataclass(slots=True)
class Finished:
    """A text log being read, whose log is given a last touch."""

    text: TextReading
    touches: tuple[Finish, ...]

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        return self.text.take(data, last)

    def log(self) -> Log:
        """What was read so far."""
        log = self.text.log()
        for touch in self.touches:
            log = touch(log)
        return log


def with_validations_ended(log: Log) -> Log:
    """The last value of each validation.

    While it validates, a loop prints the mean over the batches so far, all at one step of training: only the
    last of them is the mean over all batches.
    """
    return replace(log, series=tuple(map(_ended, log.series)))


def _ended(series: Series) -> Series:
    if not series.name.startswith(("val/", "test/")) or len(series) < 2:
        return series
    return series.select(np.append(np.diff(series.steps) != 0, True))


def without_placeholders(log: Log) -> Log:
    """The log without a scale or gradient norm of nothing but zeros: they are printed and not measured.

    A network that learns has a gradient. Where the loss itself is zero throughout, the zeros may be true.
    """
    learns = any(s.name == "loss" and not _all_zero(s) for s in log.series)
    gone = [
        series
        for series in log.series
        if _all_zero(series) and (series.name == "loss_scale" or (series.name == "grad_norm" and learns))
    ]
    if not gone:
        return log
    names = " and ".join(series.logged_as for series in gone)
    return replace(
        log,
        series=tuple(series for series in log.series if series not in gone),
        notes=(*log.notes, f"{names}: always 0, a placeholder that was not measured; left out"),
    )


def _all_zero(series: Series) -> bool:
    return len(series) > 0 and not series.values.any()


def on_epochs(log: Log) -> Log:
    """The log of a loop that counts nothing but epochs."""
    return replace(log, series=tuple(replace(series, axis="epoch") for series in log.series))
