"""What the training of a denoiser teaches: how data and noise are mixed, and what is to be said of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import ingredients, is_drawn, peeled
from stethoscope.program.index import Index
from stethoscope.program.objective.probe import score
from stethoscope.program.objective.unsolved_estimates import comparisons, given, mixture
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.learning_classes import learns
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Part,
    Site,
    Value,
    inputs,
)

Array = npt.NDArray[np.float64]
SHAPES = ((1, 2), (1, 1, 2, 2), (1, 1, 2))
OUTPUTS = frozenset({"sample", 0, "x", "prediction", "pred", "eps", "out"})


@dataclass(slots=True)
class Lesson:
    """What training teaches: `keep * data + add * noise` and a level in, and what to give for both."""

    one: Minimised
    network: Applied | Delayed
    compared: Site
    operands: tuple[Value, Value, Value]  # data, noise and time
    noisy: Value
    target: Value
    shape: tuple[int, ...]
    time_shape: tuple[int, ...]
    is_whole: bool  # steps that are counted
    slope: float  # of what is told, by the time
    start: float
    known: dict[float, tuple[float, float, float, float] | None] = field(default_factory=dict)

    def parts(self, told: float) -> tuple[float, float, float, float] | None:
        """How much data and noise are in the input, and in the answer, at a level that is told."""
        time = (told - self.start) / self.slope
        ends = ends_of(self.one.run.index, self.operands[2]) if self.is_whole else None
        if ends is not None:  # samplers begin one step further, where tables have no level of their own
            time = min(max(round(time), ends[0]), ends[1])
        if time not in self.known:
            sides = [
                _number(self, side, time, data, noise)
                for side in (self.noisy, self.target)
                for data, noise in ((1.0, 0.0), (0.0, 1.0))
            ]
            numbers = [side for side in sides if side is not None]
            match numbers:
                case [of_data, of_noise, target_of_data, target_of_noise]:
                    self.known[time] = (of_data, of_noise, target_of_data, target_of_noise)
                case _:
                    self.known[time] = None
        return self.known[time]


def _number(lesson: Lesson, value: Value, time: float, data: float, noise: float) -> float | None:
    index = lesson.one.run.index
    return _tried(
        index, value, lesson.operands, lesson.shape, lesson.time_shape, time, lesson.is_whole, data, noise
    )


def _tried(
    index: Index,
    value: Value,
    operands: tuple[Value, Value, Value],
    shape: tuple[int, ...],
    time_shape: tuple[int, ...],
    time: float,
    is_whole: bool,
    data: float,
    noise: float,
) -> float | None:
    times = np.full(time_shape, time).astype(np.int64 if is_whole else np.float64)
    return score(index, value, operands, (np.full(shape, data), np.full(shape, noise), times))


def lessons_of(one: Minimised) -> Iterator[Lesson]:
    """The comparisons of a minimised value in which a network's output is held to data, noise or both."""
    for left, right, site in comparisons(one):
        for output, target in ((left, right), (right, left)):
            network = peeled(output)
            while isinstance(network, Part) and network.key in OUTPUTS:
                network = peeled(network.base)
            if isinstance(network, Applied | Delayed) and _is_network(one.run, network):
                lesson = _lesson(one, network, target, site)
                if lesson is not None:
                    yield lesson


def _is_network(run: Execution, value: Applied | Delayed) -> bool:
    if isinstance(value, Applied) and value.maker is not None:
        return value.callee.endswith("()")
    return is_model_call(run.index, value) or _is_around_network(run, value)


def _is_around_network(run: Execution, value: Applied | Delayed) -> bool:
    """Whether a value is the output of a module that scales what a network it is handed gets and gives."""
    callee = value.callee if isinstance(value, Delayed) else None
    if not isinstance(callee, FunctionValue) or callee.function.name not in {"forward", "__call__"}:
        return False
    held = callee.bound.made_with.values() if isinstance(callee.bound, Instance) else ()
    return any(isinstance(one, Instance) and learns(run.index, one.cls) for one in held)


def _lesson(one: Minimised, network: Applied | Delayed, target: Value, site: Site) -> Lesson | None:
    noisy, *told = given(network) or [Constant(None)]
    mixed = mixture(one.run, noisy)
    if mixed is None or not told:
        return None
    reached = ingredients(one.run, told[0], leading=lambda value: () if is_drawn(value) else inputs(value))
    drawn = [value for value in reached if is_drawn(value) and value is not mixed[1]]
    if len(drawn) != 1 or not isinstance(drawn[0], Applied):
        return None
    # Rows may be picked from all data by numbers that are not known; then the rows are the data. What is told
    # may follow from what is drawn by any formula; then the level itself is what is tried.
    data, noise = mixed
    picked = next((v for v in ingredients(one.run, noisy) if v is not data and peeled(v) is data), data)
    tries = (
        (data, noise, drawn[0]),
        (picked, noise, drawn[0]),
        (data, noise, told[0]),
        (picked, noise, told[0]),
    )
    found = (_learned(one, network, target, site, operands) for operands in tries)
    return next((lesson for lesson in found if lesson is not None), None)


def _learned(
    one: Minimised,
    network: Applied | Delayed,
    target: Value,
    site: Site,
    operands: tuple[Value, Value, Value],
) -> Lesson | None:
    noisy, told, *_ = given(network)
    time = operands[2]
    is_whole = isinstance(time, Applied) and time.callee.rpartition(".")[2] == "randint"
    ends = ends_of(one.run.index, time) if is_whole else (0.2, 0.8)
    if ends is None:
        return None
    for shape in SHAPES:
        for time_shape in ((1,), (1,) * len(shape)):
            times = (ends[0], (ends[0] + ends[1]) / 2, ends[1])
            levels = [
                _tried(one.run.index, told, operands, shape, time_shape, at, False, 0.0, 0.0) for at in times
            ]
            known = [level for level in levels if level is not None]
            if len(known) < len(levels) or known[0] == known[2]:
                continue
            if abs(known[0] + known[2] - 2 * known[1]) > 1e-6 * abs(known[2] - known[0]):
                return None  # not in equal steps
            slope = (known[2] - known[0]) / (ends[1] - ends[0])
            start = known[0] - slope * ends[0]
            lesson = Lesson(
                one, network, site, operands, noisy, target, shape, time_shape, is_whole, slope, start
            )
            middle = lesson.parts(known[1])
            if middle is not None and middle[1] != 0:
                return lesson
    return None


def ends_of(index: Index, drawn: Value) -> tuple[float, float] | None:
    """The first and the last of the steps that are drawn."""
    if not isinstance(drawn, Applied):
        return None
    bounds = [arg for arg in drawn.args[:2] if not isinstance(arg, Items)]
    numbers = [score(index, bound, (), ()) for bound in bounds]
    known = [number for number in numbers if number is not None]
    if not known or len(known) < len(bounds):
        return None
    low, high = (0.0, known[0]) if len(known) == 1 else (known[0], known[1])
    return (low, high - 1) if high - 1 > low else None
