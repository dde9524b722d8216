"""Collects the points of a log as they are met and names the series at the end."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stethoscope.run import Aggregation, Series
from stethoscope.run.names import MINIMISED, assign
from stethoscope.run.series import Steps, Values

MAX_SERIES = 5_000  # names of one log; keys that are data would otherwise fill the memory


@dataclass(slots=True)
class Growing:
    """Numbers that come one by one or in arrays, and are wanted as one array."""

    code: str  # of the array module: "q" for integers, "d" for floats
    held: array[Any] = field(init=False)
    lent: bool = False  # somebody looks at `held`, which cannot grow any more

    def __post_init__(self) -> None:
        self.held = array(self.code)

    def __len__(self) -> int:
        return len(self.held)

    def append(self, value: float) -> None:
        """Add one number."""
        self._take_back()
        self.held.append(value)

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Add an array of the same type."""
        self._take_back()
        self.held.frombytes(np.ascontiguousarray(values).view(np.uint8).data)

    def array(self) -> npt.NDArray[Any]:
        """All of them; what is added later does not change it."""
        self.lent = True
        return np.frombuffer(self.held, dtype=np.int64 if self.code == "q" else np.float64)

    def _take_back(self) -> None:
        if self.lent:
            self.held, self.lent = self.held[:], False


@dataclass(slots=True)
class Points:
    """Steps and values by logged name, in the order written; `dropped` counts what was refused."""

    steps: dict[str, Growing] = field(default_factory=dict)
    values: dict[str, Growing] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)  # of the names whose axis is known
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    dropped: int = 0

    def add(self, name: str, step: int, value: float, line: int | None = None) -> None:
        """Note one value, and the line it stands on."""
        if self._known(name):
            self.steps[name].append(step)
            self.values[name].append(value)
            if line is not None:
                self.lines[name] = (self.lines.get(name, (line, line))[0], line)

    def add_all(
        self, name: str, steps: Steps, values: Values, axis: str, lines: tuple[int, int] | None
    ) -> None:
        """Note as many values as steps, which stand between these lines."""
        known = self.axes.get(name)
        if known is not None and known != axis:
            name = f"{name} (by {axis})"
        if not self._known(name):
            return
        self.axes.setdefault(name, axis)
        if lines is not None:
            self.lines[name] = (self.lines.get(name, lines)[0], lines[1])
        self.steps[name].extend(steps)
        self.values[name].extend(values)

    def _known(self, name: str) -> bool:
        """Whether the name is taken down, begun where it is not yet; False where there are too many."""
        if name not in self.steps:
            if len(self.steps) >= MAX_SERIES:
                self.dropped += 1
                return False
            self.steps[name], self.values[name] = Growing("q"), Growing("d")
        return True

    def series(
        self,
        file: str,
        aggregation: Aggregation = Aggregation.UNKNOWN,
        axis: str = "step",
        names: Mapping[str, str] | None = None,
    ) -> tuple[Series, ...]:
        """The series under canonical names; `names` overrules the alias table for the names it holds."""
        named = assign({name: len(steps) for name, steps in self.steps.items()}) | dict(names or {})
        found = tuple(
            Series(
                named[logged],
                logged,
                steps.array(),
                self.values[logged].array(),
                file,
                aggregation_of(named[logged], logged, aggregation),
                self.axes.get(logged, axis),
                self.lines.get(logged),
            )
            for logged, steps in self.steps.items()
        )
        return with_lone_loss(found)


def aggregation_of(name: str, logged: str, usual: Aggregation) -> Aggregation:
    """What one value of this series stands for, in a log whose training values are usually `usual`."""
    if name.startswith(("val/", "lr/")) or name in {"lr", "epoch"} or logged.endswith("_step"):
        return Aggregation.INSTANT
    if logged.endswith("_epoch"):
        return Aggregation.WINDOW_MEAN
    return usual


def with_lone_loss(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """The series, and "loss" for a term that is minimised alone and logged only under its own name."""
    names = [s.name for s in series]
    terms = [s for s in series if s.name.startswith("loss/")]
    if "loss" in names or len(terms) != 1 or terms[0].name.removeprefix("loss/") not in MINIMISED:
        return series
    return (*series, replace(terms[0], name="loss"))
