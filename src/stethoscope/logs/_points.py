"""Collects the points of a log as they are met and names the series at the end."""

from __future__ import annotations

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

    kind: type[np.int64] | type[np.float64]
    parts: list[npt.NDArray[Any]] = field(default_factory=list)
    single: list[float] = field(default_factory=list)
    length: int = 0

    def __len__(self) -> int:
        return self.length

    def append(self, value: float) -> None:
        """Add one number."""
        self.single.append(value)
        self.length += 1

    def extend(self, values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> None:
        """Add an array, which is kept as it is."""
        self.close()
        self.parts.append(values)
        self.length += len(values)

    def array(self) -> npt.NDArray[Any]:
        """All of them; what is added later does not change it."""
        self.close()
        if len(self.parts) != 1:
            self.parts = [np.concatenate(self.parts or [np.empty(0)]).astype(self.kind, copy=False)]
        return self.parts[0]

    def close(self) -> None:
        """Put single numbers into an array."""
        if self.single:
            self.parts.append(np.array(self.single, dtype=self.kind))
            self.single = []


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

    def _share_steps(self) -> None:
        """Keep the steps of values that stand on the same lines once."""
        kept: dict[tuple[int, ...], Growing] = {}
        for steps in self.steps.values():
            steps.close()
            same = kept.setdefault(tuple(map(id, steps.parts)), steps)
            if same is not steps:
                steps.parts = [same.array()]
            else:
                steps.array()

    def _known(self, name: str) -> bool:
        """Whether the name is taken down, begun where it is not yet; False where there are too many."""
        if name not in self.steps:
            if len(self.steps) >= MAX_SERIES:
                self.dropped += 1
                return False
            self.steps[name], self.values[name] = Growing(np.int64), Growing(np.float64)
        return True

    def series(
        self,
        file: str,
        aggregation: Aggregation = Aggregation.UNKNOWN,
        axis: str = "step",
        names: Mapping[str, str] | None = None,
    ) -> tuple[Series, ...]:
        """The series under canonical names; `names` overrules the alias table for the names it holds."""
        self._share_steps()
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
