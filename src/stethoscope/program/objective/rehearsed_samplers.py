"""Samplers that do not arrive where their network was trained to take them, tried on numbers.

Were all data one point, the best answer of a denoiser at any place and noise level would be known: the noise
is what lies between that place and the point, and the training says what is to be made of both. With such
a network in its place a sampler is followed from two starts towards two points. It has to end at a place that
the point settles, and not the start. What anything is called does not matter.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import ingredients, is_drawn, peeled
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.flow_steps import STARTS
from stethoscope.program.objective.probe import rebuilt, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.objective.unsolved_estimates import comparisons, given, mixture
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.parameter_values import entry_parameters
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
    Site,
    Value,
    inputs,
)

Array = npt.NDArray[np.float64]
POINTS = (0.7, -0.4)
STEPS = 150_000  # of one rehearsal
MOST_ROUNDS = 1_100
MOST_SAMPLERS = 4
LARGEST_SIDE = 2  # of what a sampler starts from
STEPS_OF_SCHEDULE = 50  # where a sampler is not told
LEAST = 0.05  # that two points have to be apart in the end
LEFT = 0.35  # of what the start may say, against what the point says
SHAPES = ((1, 2), (1, 1, 2, 2), (1, 1, 2))
OUTPUTS = frozenset({"sample", 0, "x", "prediction", "pred", "eps", "out"})
_SKIPPED = re.compile(r"backward\(|optimi[sz]er|\.step\(\)|inpaint|edit|interpolat|invert|inversion|encode")


class Miss(StrEnum):
    """Why a sampler does not arrive."""

    LEVEL = "it tells the network the noise levels the other way round"
    SIGN = "it goes against the output of its network"
    FORM = "it takes the output of its network for something else"


@dataclass(frozen=True, slots=True, eq=False)
class LostSampler:
    """A sampler that ends somewhere else, and the comparison that its network is trained with."""

    site: Site
    compared: Site
    miss: Miss


@dataclass(slots=True)
class _Lesson:
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
        ends = _ends(self.operands[2]) if self.is_whole else None
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


def _number(lesson: _Lesson, value: Value, time: float, data: float, noise: float) -> float | None:
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


@remembered
def lost_samplers(index: Index, settings: SettingsTree) -> tuple[LostSampler, ...]:
    """Rehearse the samplers of a program that trains one denoiser."""
    lessons: list[_Lesson] = []
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lessons.extend(_lessons(one))
        except (Exhausted, RecursionError):
            continue
    if len({id(lesson.compared.node) for lesson in lessons}) != 1:
        return ()
    samplers = [function for function in index.functions if _is_sampler(function)][:MOST_SAMPLERS]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [_rehearsed(lessons[0], settings, sampler) for sampler in samplers]
    return tuple(one for one in found if one is not None)


def _is_sampler(function: Function) -> bool:
    if is_test(function.source):
        return False
    loops = [node for node in own_nodes(function.node) if isinstance(node, ast.For)]
    text = ast.unparse(function.node) if loops else ""
    starts = "randn" in text or (bool(loops) and any(STARTS & {*words(name)} for name in function.parameters))
    return starts and not _SKIPPED.search(text)


# What training teaches


def _lessons(one: Minimised) -> Iterator[_Lesson]:
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
    return is_model_call(run.index, value)


def _lesson(one: Minimised, network: Applied | Delayed, target: Value, site: Site) -> _Lesson | None:
    noisy, *told = given(network) or [Constant(None)]
    mixed = mixture(one.run, noisy)
    if mixed is None or not told:
        return None
    reached = ingredients(one.run, told[0], leading=lambda value: () if is_drawn(value) else inputs(value))
    drawn = [value for value in reached if is_drawn(value) and value is not mixed[1]]
    if len(drawn) != 1 or not isinstance(drawn[0], Applied):
        return None
    # What is told may follow from what is drawn by any formula; then the level itself is what is tried.
    return _learned(one, network, target, site, (*mixed, drawn[0])) or _learned(
        one, network, target, site, (*mixed, told[0])
    )


def _learned(
    one: Minimised,
    network: Applied | Delayed,
    target: Value,
    site: Site,
    operands: tuple[Value, Value, Value],
) -> _Lesson | None:
    noisy, told, *_ = given(network)
    time = operands[2]
    is_whole = isinstance(time, Applied) and time.callee.rpartition(".")[2] == "randint"
    ends = _ends(time) if is_whole else (0.2, 0.8)
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
            lesson = _Lesson(
                one, network, site, operands, noisy, target, shape, time_shape, is_whole, slope, start
            )
            middle = lesson.parts(known[1])
            if middle is not None and middle[1] != 0:
                return lesson
    return None


def _ends(drawn: Value) -> tuple[float, float] | None:
    """The first and the last of the steps that are drawn."""
    if not isinstance(drawn, Applied):
        return None
    numbers = [arg.value for arg in drawn.args if isinstance(arg, Constant) and isinstance(arg.value, int)]
    if len(numbers) == 1:
        numbers.insert(0, 0)
    return (float(numbers[0]), float(numbers[1] - 1)) if len(numbers) == 2 else None


# What a sampler makes of it


@dataclass(frozen=True, slots=True)
class _Oracle:
    """The best network there could be, were all data one point; what it hears and says may be turned."""

    lesson: _Lesson
    point: float
    seed: int
    is_told_backwards: bool = False
    sign: float = 1.0

    def __call__(self, callee: Value, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
        if isinstance(callee, Outside):
            return self._drawn(callee.name, args)
        if not self._is_network(callee):
            return None
        values = [*args, *keywords.values()]
        if len(values) < 2 or not all(isinstance(value, Constant) for value in values[:2]):
            return None
        place, told = (value.value for value in values[:2] if isinstance(value, Constant))
        if not isinstance(place, np.ndarray) or not isinstance(told, np.ndarray | int | float):
            return None
        return self._answer(place, float(np.mean(told)))

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
            low, high = (_ends(lesson.operands[2]) if lesson.is_whole else None) or (0.0, 1.0)
            told = lesson.slope * (low + high) + 2 * lesson.start - told
        parts = lesson.parts(told)
        if parts is None:
            raise CannotCompute("the level is none that was learned")
        keep, add, data, noise = parts
        error = (place - keep * self.point) / (add if abs(add) > 1e-6 else 1e-6)
        return Constant(np.asarray(self.sign * (data * self.point + noise * error)))

    def _drawn(self, name: str, args: Sequence[Value]) -> Value | None:
        last = name.rpartition(".")[2]
        if last == "randn_like" and isinstance(args[0], Constant):
            return Constant(self.noise(np.asarray(args[0].value).shape))
        if last != "randn":
            return None
        sizes = list(args[0].items) if len(args) == 1 and isinstance(args[0], Items) else list(args)
        numbers = [size.value if isinstance(size, Constant) else 1 for size in sizes]
        shape = [n if isinstance(n, int) and n > 0 else 1 for n in numbers]
        return Constant(self.noise((*shape[:1], *(min(n, LARGEST_SIDE) for n in shape[1:]))))

    def noise(self, shape: tuple[int, ...]) -> Array:
        """Where a sampler starts, and what it adds on its way."""
        return np.random.default_rng(self.seed).normal(size=shape)


def _rehearsed(lesson: _Lesson, settings: SettingsTree, sampler: Function) -> LostSampler | None:
    arrives = _arrives(lesson, settings, sampler)
    if arrives is not False:
        return None
    site = Site(sampler.source, sampler.node)
    if _arrives(lesson, settings, sampler, is_told_backwards=True):
        return LostSampler(site, lesson.compared, Miss.LEVEL)
    if _arrives(lesson, settings, sampler, sign=-1.0):
        return LostSampler(site, lesson.compared, Miss.SIGN)
    return LostSampler(site, lesson.compared, Miss.FORM)


def _arrives(
    lesson: _Lesson,
    settings: SettingsTree,
    sampler: Function,
    is_told_backwards: bool = False,
    sign: float = 1.0,
) -> bool | None:
    """Whether the end is settled by the point that the network knows; None where it cannot be followed."""
    ends: list[Array] = []
    for point, seed in ((POINTS[0], 1), (POINTS[0], 2), (POINTS[1], 1)):
        end = _end(lesson, settings, sampler, _Oracle(lesson, point, seed, is_told_backwards, sign))
        if end is None:
            return None
        ends.append(end)
    one, of_other_start, of_other_point = ends
    by_start, by_point = (float(np.mean(np.abs(one - other))) for other in (of_other_start, of_other_point))
    return bool(np.isfinite(by_start) and by_point > LEAST and by_start <= LEFT * by_point)


def _end(lesson: _Lesson, settings: SettingsTree, sampler: Function, oracle: _Oracle) -> Array | None:
    run = Execution(lesson.one.run.index, settings, STEPS, eager=True)
    run.stand_in, run.most_rounds = oracle, MOST_ROUNDS
    try:
        bound = _holder(run, lesson, sampler)
        values = {name: _argument(sampler, name, oracle) for name in entry_parameters(sampler)}
        known = {name: value for name, value in values.items() if value is not None}
        end = run.force(run.follow(FunctionValue(sampler, bound), (), known))
    except (Exhausted, CannotCompute, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    if isinstance(end, Items) and end.items:
        end = end.items[0]
    number = end.value if isinstance(end, Constant) else None
    is_place = isinstance(number, np.ndarray) and number.ndim > 1 and number.dtype.kind == "f"
    return np.asarray(number, dtype=np.float64) if is_place else None


def _holder(run: Execution, lesson: _Lesson, sampler: Function) -> Value | None:
    """The object whose method a sampler is: the one that training used, made again with numbers."""
    if sampler.owner is None or "staticmethod" in sampler.decorators:
        return None
    made: dict[Class, Instance] = {}
    for value in (lesson.noisy, lesson.target, lesson.network, lesson.one.sink.value):
        for one in ingredients(lesson.one.run, value):
            callee = one.callee if isinstance(one, Delayed) else None
            held = callee.bound if isinstance(callee, FunctionValue) else None
            if isinstance(held, Instance):
                made.setdefault(held.cls, held)
    known = made.get(sampler.owner) or made_for_hooks(lesson.one.run, sampler.owner)
    return rebuilt(run, known, {})


def _argument(sampler: Function, name: str, oracle: _Oracle) -> Value | None:
    """What a sampler is asked for; None for what has a default."""
    spec = sampler.node.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    with_default = {*positional[len(positional) - len(spec.defaults) :]} if spec.defaults else set()
    with_default |= {
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None
    }
    if name in with_default:
        return None
    if "shape" in name or name == "size":
        return Items([Constant(size) for size in oracle.lesson.shape])
    if STARTS & {*words(name)}:
        return Constant(oracle.noise(oracle.lesson.shape))
    if "step" in name or name in {"nfe", "T"}:
        return Constant(STEPS_OF_SCHEDULE)
    if name in {"n", "num", "count", "b", "bs", "k"} or name.startswith(("n_", "num_", "batch")):
        return Constant(1)
    if name in {"d", "dev"} or "device" in name:
        return Constant("cpu")
    return Leaf(name)
