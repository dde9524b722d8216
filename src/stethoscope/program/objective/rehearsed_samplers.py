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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.denoiser_lessons import Lesson, lessons_of
from stethoscope.program.objective.flow_steps import STARTS
from stethoscope.program.objective.ideal_denoisers import Oracle
from stethoscope.program.objective.probe import rebuilt
from stethoscope.program.objective.sampler_arguments import PICTURE, START, asked, guessed
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.bare_command_line import bare_command_line
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_instances import made_for_hooks
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.tensor_operations import CannotCompute
from stethoscope.program.walk.values import (
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Site,
    Value,
)

Array = npt.NDArray[np.float64]
POINTS = (0.7, -0.4)
STEPS = 150_000  # of one rehearsal
MOST_ROUNDS = 1_100
MOST_SAMPLERS = 4
LEAST = 0.005  # that two points have to be apart in the end
LEFT = 0.35  # of what the start may say, against what the point says
CENTRES = (0.65, 0.35)  # of data with a spread, which samplers that cut at zero and one leave whole
SPREAD = 0.15
STRAYED = 0.05  # of the way from one centre to the other; Langevin steps stay below 0.04
STRAYED_ALONG_A_PATH = 0.015  # where only the start is drawn; Heun steps stay below 0.005
LEAST_KEPT = 0.35  # of the spread of the data; forty steps of DDIM keep 0.78, thirty of Euler 0.9
FEWEST_PASSES = 20  # fewer steps are too coarse to arrive
START_LEVEL = 0.5  # of data, against the noise, that is as much as it: data are below one in size
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


@remembered
def lost_samplers(index: Index, settings: SettingsTree) -> tuple[LostSampler, ...]:
    """Rehearse the samplers of a program that trains one denoiser, with its flags at their defaults."""
    if not any("randn" in source.text or "normal" in source.text for source in index.program):
        return ()
    return _lost(index, bare_command_line(index, settings) or settings)


def _lost(index: Index, settings: SettingsTree) -> tuple[LostSampler, ...]:
    lessons: list[Lesson] = []
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lessons.extend(lessons_of(one))
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
    loops = own_nodes(function.node, ast.For)
    text = ast.unparse(function.node) if loops else ""
    starts = "randn" in text or (bool(loops) and any(STARTS & {*words(name)} for name in function.parameters))
    return starts and not _SKIPPED.search(text)


def _rehearsed(lesson: Lesson, settings: SettingsTree, sampler: Function) -> LostSampler | None:
    given = [*asked(lesson.one.run.index, settings, sampler), guessed(sampler, lesson.shape)]
    site = Site(sampler.source, sampler.node)
    missed: list[Mapping[str, Value]] = []
    for one in given:
        arrives = _arrives(lesson, settings, sampler, one)
        if arrives:
            miss = _strays(lesson, settings, sampler, one)
            if miss is not None and _is_cured_by_turning(lesson, settings, sampler, one):
                miss = Miss.LEVEL
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
    lesson: Lesson,
    settings: SettingsTree,
    sampler: Function,
    asks: Mapping[str, Value],
    is_told_backwards: bool = False,
    sign: float = 1.0,
) -> bool | None:
    """Whether the end is settled by the point that the network knows; None where it cannot be followed."""
    ends: list[Array] = []
    for point, seed in ((POINTS[0], 1), (POINTS[0], 2), (POINTS[1], 1)):
        end = _end(lesson, settings, sampler, asks, Oracle(lesson, point, seed, is_told_backwards, sign))
        if end is None:
            return None
        ends.append(end)
    one, of_other_start, of_other_point = ends
    by_start, by_point = (float(np.mean(np.abs(one - other))) for other in (of_other_start, of_other_point))
    return bool(np.isfinite(by_start) and by_point > LEAST and by_start <= LEFT * by_point)


def _is_cured_by_turning(
    lesson: Lesson, settings: SettingsTree, sampler: Function, asks: Mapping[str, Value]
) -> bool:
    """Whether a sampler finds the data where the network hears the levels the other way round."""
    arrives = _arrives(lesson, settings, sampler, asks, is_told_backwards=True)
    return bool(arrives) and _strays(lesson, settings, sampler, asks, is_told_backwards=True) is None


def _strays(
    lesson: Lesson,
    settings: SettingsTree,
    sampler: Function,
    asks: Mapping[str, Value],
    is_told_backwards: bool = False,
) -> Miss | None:
    """Why a sampler that finds a point does not find data around it.

    Both the best answers and what samplers make of them are sums of multiples, so that the mean of what is
    drawn moves with the mean of the data, whatever their spread.
    """
    moved: list[float] = []
    for spread in (0.0, SPREAD):
        oracles = [Oracle(lesson, point, 1, is_told_backwards, spread=spread) for point in CENTRES]
        ends = [_end(lesson, settings, sampler, asks, oracle) for oracle in oracles]
        one, other = ends
        if one is None or other is None or one.shape != other.shape or oracles[0].passes < FEWEST_PASSES:
            return None
        moved.append(float(np.mean(one - other)))
        if _starts_late(oracles):
            return Miss.START
    if abs(moved[0]) < LEAST:
        return None
    is_path = all(oracle.drawn == 1 for oracle in oracles)
    most = STRAYED_ALONG_A_PATH if is_path else STRAYED
    if not abs(moved[1] / moved[0] - 1) < most:
        return Miss.SHARES
    restarted = Oracle(lesson, CENTRES[0], 2, is_told_backwards, spread=SPREAD)
    end = _end(lesson, settings, sampler, asks, restarted)
    if not is_path or one is None or end is None or end.shape != one.shape:
        return None
    share = _spread_kept(oracles[0], restarted, one - end, moved[0])
    return Miss.SHARES if share is not None and not LEAST_KEPT < share < 1 / LEAST_KEPT else None


def _spread_kept(one: Oracle, other: Oracle, apart: Array, moved: float) -> float | None:
    """How far apart the ends of two starts are, against how far they are in the data; a path keeps that."""
    if one.first is None or other.first is None or abs(one.first[2]) < LEAST:
        return None
    starts = (one.first[0] - other.first[0]) / one.first[2]
    scale = abs(moved) / (CENTRES[0] - CENTRES[1]) * SPREAD
    size = float(np.sqrt(np.mean(starts**2)))
    return float(np.sqrt(np.mean(apart**2))) / (size * scale) if size > 0 else None


def _starts_late(oracles: Sequence[Oracle]) -> bool:
    """Whether the first place is noise, and the level told there is one with more data than noise."""
    firsts = [oracle.first for oracle in oracles]
    (place, keep, add), (other, *_) = [first for first in firsts if first is not None]
    return bool(np.array_equal(place, other)) and abs(keep) * START_LEVEL > abs(add)


def _end(
    lesson: Lesson, settings: SettingsTree, sampler: Function, asks: Mapping[str, Value], oracle: Oracle
) -> Array | None:
    run = Execution(lesson.one.run.index, settings, STEPS, eager=True)
    run.stand_in, run.most_rounds = oracle, MOST_ROUNDS
    try:
        bound = _holder(run, lesson, sampler)
        known = {name: _stand_in(value, lesson, oracle) for name, value in asks.items()}
        known = {n: rebuilt(run, v, {}) if isinstance(v, Instance) else v for n, v in known.items()}
        end = run.force(run.follow(FunctionValue(sampler, bound), (), known))
    except (Exhausted, CannotCompute, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    if isinstance(end, Items) and end.items:
        end = end.items[0]
    number = end.value if isinstance(end, Constant) else None
    is_place = isinstance(number, np.ndarray) and number.ndim > 1 and number.dtype.kind == "f"
    return np.asarray(number, dtype=np.float64) if is_place else None


def _stand_in(value: Value, lesson: Lesson, oracle: Oracle) -> Value:
    if value is START:
        return Constant(oracle.noise(lesson.shape))
    return Constant(np.zeros(lesson.shape)) if value is PICTURE else value


def _holder(run: Execution, lesson: Lesson, sampler: Function) -> Value | None:
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
