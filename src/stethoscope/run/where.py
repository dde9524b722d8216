"""The address of a claim."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Where:
    """An address a reader can open: a file and its line, or a series and its steps.

    `column` counts characters from 1, and `end` is the line and column behind the last character. Two
    addresses on one line are the same address: the columns only help to show it.
    """

    file: str = ""
    line: int | None = None
    series: str | None = None
    steps: tuple[int, int] | None = None
    column: int | None = field(default=None, compare=False)
    end: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        if self.series is None:
            return place
        signal = self.series
        if self.steps is not None:
            first, last = self.steps
            signal += f" at step {first:,}" if first == last else f" at steps {first:,} to {last:,}"
        return f"{signal} ({place})" if place else signal
