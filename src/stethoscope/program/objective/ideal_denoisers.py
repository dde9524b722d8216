"""The best denoiser there could be for data of one known spread, in the place of the one that is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stethoscope.program.objective.denoiser_lessons import Lesson, ends_of
from stethoscope.program.walk.learning_classes import learns
from stethoscope.program.walk.tensor_operations import CannotCompute
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Value,
)

Array = npt.NDArray[np.float64]
LARGEST_SIDE = 2  # of what a sampler starts from
LATENTS = 10.0  # times a picture: what is decoded may be larger, and is cut off as pictures are
LEAST_VARIANCE = 1e-12  # what is divided by


@dataclass(slots=True)
class Oracle:
    """The best network there could be, were all data one point; what it hears and says may be turned.

    With a `spread` the data are normal around the point. `passes` counts how often it was asked, and
    `first` is what it was asked first: the place, and the share of data and noise it was told of.
    """

    lesson: Lesson
    point: float
    seed: int
    is_told_backwards: bool = False
    sign: float = 1.0
    spread: float = 0.0
    passes: int = 0
    first: tuple[Array, float, float] | None = None
    drawn: int = 0

    def __call__(self, callee: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
        if isinstance(callee, Outside):
            return self._drawn(callee.name, args)
        if not self._is_network(callee):
            return self._left(callee, args)
        values = [*args, *keywords.values()]
        if len(values) < 2 or not all(isinstance(value, Constant) for value in values[:2]):
            return None
        place, told = (value.value for value in values[:2] if isinstance(value, Constant))
        if not isinstance(place, np.ndarray) or not isinstance(told, np.ndarray | int | float):
            return None
        return self._answer(place, float(np.mean(told)))

    def _left(self, callee: Value, args: Sequence[Value]) -> Value | None:
        """What a decoder behind a sampler makes of what it is given: the same, in the size of pictures."""
        held = callee.bound if isinstance(callee, FunctionValue) else callee
        is_other = isinstance(held, Instance) and learns(self.lesson.one.run.index, held.cls)
        if not is_other or len(args) != 1 or not isinstance(args[0], Constant):
            return None
        name = callee.function.name if isinstance(callee, FunctionValue) else "forward"
        made = args[0].value if name in {"decode", "decoder", "forward"} else None
        return Constant(made / LATENTS) if isinstance(made, np.ndarray) else None

    def _is_network(self, callee: Value) -> bool:
        if isinstance(callee, Instance):
            own = self.lesson.network
            bound = (
                own.callee.bound
                if isinstance(own, Delayed) and isinstance(own.callee, FunctionValue)
                else None
            )
            return isinstance(bound, Instance) and bound.cls is callee.cls
        return isinstance(callee, Leaf | Part | Applied)

    def _answer(self, place: Array, told: float) -> Value:
        lesson = self.lesson
        if self.is_told_backwards:
            low, high = (ends_of(lesson.one.run.index, lesson.operands[2]) if lesson.is_whole else None) or (
                0.0,
                1.0,
            )
            told = lesson.slope * (low + high) + 2 * lesson.start - told
        parts = lesson.parts(told)
        if parts is None:
            raise CannotCompute("the level is none that was learned")
        keep, add, data, noise = parts
        self.passes += 1
        self.first = self.first or (place, keep, add)
        away = (place - keep * self.point) / max(keep**2 * self.spread**2 + add**2, LEAST_VARIANCE)
        clean, error = self.point + keep * self.spread**2 * away, add * away
        return Constant(np.asarray(self.sign * (data * clean + noise * error)))

    def _drawn(self, name: str, args: Sequence[Value]) -> Value | None:
        last = name.rpartition(".")[2]
        if last == "randn_like" and isinstance(args[0], Constant):
            return Constant(self.noise(np.asarray(args[0].value).shape))
        if last not in {"randn", "rand"}:
            return None
        sizes = list(args[0].items) if len(args) == 1 and isinstance(args[0], Items) else list(args)
        numbers = [size.value if isinstance(size, Constant) else 1 for size in sizes]
        shape = [n if isinstance(n, int) and n > 0 else 1 for n in numbers]
        return Constant(self.noise((*shape[:1], *(min(n, LARGEST_SIDE) for n in shape[1:]))))

    def noise(self, shape: tuple[int, ...]) -> Array:
        """Where a sampler starts, and what it adds on its way."""
        self.drawn += 1
        return np.random.default_rng((self.seed, self.drawn)).normal(size=shape)
