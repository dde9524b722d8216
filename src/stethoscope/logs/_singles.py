"""Lines of which there are few of a kind, read one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stethoscope.logs._chunk import Decoded, note_lines
from stethoscope.logs._columns import Floats, Integers
from stethoscope.logs._grammar import Span, StepLine
from stethoscope.logs._numbers import LAST_STEP, number


@dataclass(slots=True)
class Singles:
    """Adds single lines to what was decoded."""

    found: Decoded

    def add(self, at: int, line: StepLine, raw: bytes) -> None:
        """Read one line."""

        def measured(span: Span) -> Floats | None:
            value = number(raw[slice(*span)].decode("latin-1"))
            return None if value is None else np.array([value])

        def counted(span: Span | None) -> Integers | None:
            value = None if span is None else number(raw[slice(*span)].decode("latin-1"))
            if value is None or not abs(value) < LAST_STEP or value != int(value):
                return None
            return np.array([int(value)])

        note_lines(np.array([at]), line, counted, measured, self.found)
