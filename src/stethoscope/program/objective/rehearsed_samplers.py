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
from stethoscope.program.objective.sampler_arguments import START, asked, guessed
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.objective.unsolved_estimates import comparisons, given, mixture
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.bare_command_line import bare_command_line
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.learning_classes import learns
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call
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
LEAST_VARIANCE = 1e-12  # what is divided by
LEAST = 0.05  # that two points have to be apart in the end
LEFT = 0.35  # of what the start may say, against what the point says
CENTRES = (0.65, 0.35)  # of data with a spread, which samplers that cut at zero and one leave whole
SPREAD = 0.15
STRAYED = 0.05  # of the way from one centre to the other; Langevin steps stay below 0.04
STRAYED_ALONG_A_PATH = 0.015  # where only the start is drawn; Heun steps stay below 0.005
FEWEST_PASSES = 15  # fewer steps are too coarse to arrive
START_LEVEL = 0.5  # of data, against the noise, that is as much as it: data are below one in size
SHAPES = ((1, 2), (1, 1, 2, 2), (1, 1, 2))
OUTPUTS = frozenset({"sample", 0, "x", "prediction", "pred", "eps", "out"})
_SKIPPED = re.compile(r"backward\(|optimi[sz]er|\.step\(\)|inpaint|edit|interpolat|invert|inversion|encode")


class Miss(StrEnum):
    """Why a sampler does not arrive."""

    LEVEL = "it tells the network the noise levels the other way round"
    SIGN = "it goes against the output of its network"
    FORM = "it takes the output of its network for something else"
    SHARES = "it counts with other shares of data and noise than training mixes"
    START = "it starts from noise alone at a level where training leaves much of the data"


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
        ends = _ends(self.one.run.index, self.operands[2]) if self.is_whole else None
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
    """Rehearse the samplers of a program that trains one denoiser, with its flags at their defaults."""
    if not any("randn" in source.text or "normal" in source.text for source in index.program):
        return ()
    return _lost(index, bare_command_line(index, settings) or settings)


def _lost(index: Index, settings: SettingsTree) -> tuple[LostSampler, ...]:
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
    if is_test(function.source) or function.name in {"forward", "__init__"}:
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
    return is_model_call(run.index, value) or _is_around_network(run, value)


def _is_around_network(run: Execution, value: Applied | Delayed) -> bool:
    """Whether a value is the output of a module that scales what goes in and out of a network it is handed."""
    callee = value.callee if isinstance(value, Delayed) else None
    bound = callee.bound if isinstance(callee, FunctionValue) else None
    if not isinstance(bound, Instance) or callee.function.name not in {"forward", "__call__"}:
        return False
    held = bound.made_with.values()
    return any(isinstance(one, Instance) and learns(run.index, one.cls) for one in held)


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
    ends = _ends(one.run.index, time) if is_whole else (0.2, 0.8)
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


def _ends(index: Index, drawn: Value) -> tuple[float, float] | None:
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


# What a sampler makes of it


@dataclass(slots=True)
class _Oracle:
    """The best network there could be, were all data one point; what it hears and says may be turned.

    With a `spread` the data are normal around the point. `passes` counts how often it was asked, and
    `first` is what it was asked first: the place, and the share of data and noise it was told of.
    """

    lesson: _Lesson
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
            low, high = (_ends(lesson.one.run.index, lesson.operands[2]) if lesson.is_whole else None) or (
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


def _rehearsed(lesson: _Lesson, settings: SettingsTree, sampler: Function) -> LostSampler | None:
    given = [*asked(lesson.one.run.index, settings, sampler), guessed(sampler, lesson.shape)]
    site = Site(sampler.source, sampler.node)
    missed: list[Mapping[str, Value]] = []
    for one in given:
        arrives = _arrives(lesson, settings, sampler, one)
        if arrives:
            miss = _strays(lesson, settings, sampler, one)
            return LostSampler(site, lesson.compared, miss) if miss is not None else None
        if arrives is not None:
            missed.append(one)
    if not missed:
        return None
    asks, *_ = missed
    if _arrives(lesson, settings, sampler, asks, is_told_backwards=True):
        return LostSampler(site, lesson.compared, Miss.LEVEL)
    if _arrives(lesson, settings, sampler, asks, sign=-1.0):
        return LostSampler(site, lesson.compared, Miss.SIGN)
    return LostSampler(site, lesson.compared, Miss.FORM)


def _arrives(
    lesson: _Lesson,
    settings: SettingsTree,
    sampler: Function,
    asks: Mapping[str, Value],
    is_told_backwards: bool = False,
    sign: float = 1.0,
) -> bool | None:
    """Whether the end is settled by the point that the network knows; None where it cannot be followed."""
    ends: list[Array] = []
    for point, seed in ((POINTS[0], 1), (POINTS[0], 2), (POINTS[1], 1)):
        end = _end(lesson, settings, sampler, asks, _Oracle(lesson, point, seed, is_told_backwards, sign))
        if end is None:
            return None
        ends.append(end)
    one, of_other_start, of_other_point = ends
    by_start, by_point = (float(np.mean(np.abs(one - other))) for other in (of_other_start, of_other_point))
    return bool(np.isfinite(by_start) and by_point > LEAST and by_start <= LEFT * by_point)


def _strays(
    lesson: _Lesson, settings: SettingsTree, sampler: Function, asks: Mapping[str, Value]
) -> Miss | None:
    """Why a sampler that finds a point does not find data around it.

    Both the best answers and what samplers make of them are sums of multiples, so that the mean of what is
    drawn moves with the mean of the data, whatever their spread.
    """
    moved: list[float] = []
    for spread in (0.0, SPREAD):
        oracles = [_Oracle(lesson, point, 1, spread=spread) for point in CENTRES]
        ends = [_end(lesson, settings, sampler, asks, oracle) for oracle in oracles]
        one, other = ends
        if one is None or other is None or one.shape != other.shape or oracles[0].passes < FEWEST_PASSES:
            return None
        moved.append(float(np.mean(one - other)))
        if _starts_late(oracles):
            return Miss.START
    most = STRAYED if any(oracle.drawn > 1 for oracle in oracles) else STRAYED_ALONG_A_PATH
    return Miss.SHARES if not abs(moved[1] / moved[0] - 1) < most else None


def _starts_late(oracles: Sequence[_Oracle]) -> bool:
    """Whether the first place is noise, and the level told there is one with more data than noise."""
    firsts = [oracle.first for oracle in oracles]
    (place, keep, add), (other, *_) = [first for first in firsts if first is not None]
    return bool(np.array_equal(place, other)) and abs(keep) * START_LEVEL > abs(add)


def _end(
    lesson: _Lesson, settings: SettingsTree, sampler: Function, asks: Mapping[str, Value], oracle: _Oracle
) -> Array | None:
    run = Execution(lesson.one.run.index, settings, STEPS, eager=True)
    run.stand_in, run.most_rounds = oracle, MOST_ROUNDS
    try:
        bound = _holder(run, lesson, sampler)
        start = Constant(oracle.noise(lesson.shape))
        known = {name: start if value is START else value for name, value in asks.items()}
        known = {n: rebuilt(run, v, {}) if isinstance(v, Instance) else v for n, v in known.items()}
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
