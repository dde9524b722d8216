"""Lines of which there are few of a kind, read one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stethoscope.logs._reading.numbers import LAST_STEP, number
from stethoscope.logs._text.chunk import Column, Decoded, Stepped
from stethoscope.logs._text.grammar import Span, StepLine


@dataclass(slots=True)
class _Values:
    at: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Singles:
    """Collects the values of single lines, and adds them to what was decoded when closed."""

    values: dict[tuple[str, str], _Values] = field(default_factory=dict)
    stepped: list[tuple[int, int, int]] = field(default_factory=list)  # line, step, lap
    total: int | None = None
    others: list[int] = field(default_factory=list)

    def add(self, at: int, line: StepLine, raw: bytes) -> None:
        """Read one line."""
        step, total = _counted(raw, line.step), _counted(raw, line.total)
        if line.step is not None:
            if step is None:
                return
            epoch, length = _counted(raw, line.epoch), _counted(raw, line.epoch_length)
            if epoch is not None and length is not None:
                step += max(0, epoch - line.first_epoch) * length
            if abs(step) > LAST_STEP:
                return
            if line.axis == "step":
                self.stepped.append((at, step, total or 0 if line.laps else 0))
        if total is not None and not line.laps:
            self.total = total
        for name, start, end in line.values:
            value = number(raw[start:end].decode("latin-1"))
            if value is not None:
                column = self.values.setdefault((name, line.axis), _Values())
                column.at.append(at)
                column.steps.append(step or 0)
                column.values.append(value)

    def close(self, found: Decoded) -> None:
        """Hand over what was collected."""
        for (name, axis), column in self.values.items():
            own = np.array(column.steps, dtype=np.int64) if axis != "step" else None
            at = np.array(column.at, dtype=np.int64)
            found.columns.append(Column(name, axis, at, own, np.array(column.values, dtype=np.float64)))
        if self.stepped:
            lines = np.array(self.stepped, dtype=np.int64)
            found.stepped.append(Stepped(lines[:, 0], lines[:, 1], lines[:, 2]))
        if self.others:
            found.others.append(np.array(self.others, dtype=np.int64))
        found.total = self.total if self.total is not None else found.total


def _counted(raw: bytes, span: Span | None) -> int | None:
    value = None if span is None else number(raw[slice(*span)].decode("latin-1"))
    if value is None or not abs(value) < LAST_STEP or value != int(value):
        return None
    return int(value)
