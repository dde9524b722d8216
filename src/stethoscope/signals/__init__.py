"""measure: `Run` -> signals, each one there or `Missing`.

A signal is a frozen class in its own file beside a function `measure(run)` that gives it, or says
what is missing. A rule asks for a signal by naming its class as a parameter type.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stethoscope.run import Run
from stethoscope.signals.missing import Missing

__all__ = ["Missing", "Signals", "measure"]

Signal = TypeVar("Signal")


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The signals of one run, each measured when first asked for."""

    run: Run
    _measured: dict[type, Any] = field(default_factory=dict, repr=False)

    def get(self, kind: type[Signal]) -> Signal | Missing:
        """The signal of this class, or what was missing to measure it."""
        if kind not in self._measured:
            self._measured[kind] = sys.modules[kind.__module__].measure(self.run)
        measured: Signal | Missing = self._measured[kind]
        return measured


def measure(run: Run) -> Signals:
    """Make the run's signals available to the rules."""
    return Signals(run)
