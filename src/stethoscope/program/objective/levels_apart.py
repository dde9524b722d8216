"""Whether the noise in a network's input has anything to do with the level that the network is told.

The corruption is computed once for noise alone and once for data alone, so that how much of each is in it
comes out; the level is computed beside it. Each of the numbers that levels are drawn with is then moved. A
level that moves alone, while the share of the noise stays as it is, tells nothing of it. What anything is
called, how levels are scheduled and how inputs are scaled does not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.ingredients import ingredients, is_drawn
from stethoscope.program.index import Index
from stethoscope.program.objective.declared_numbers import declared_numbers
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.objective.unsolved_estimates import given, mixture
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_about_shape, is_model_call
from stethoscope.program.walk.values import Applied, Constant, Delayed, Site, Value, inputs

SHAPES = ((2, 1, 1, 1), (2, 1), (2, 1, 1))
WHOLE = frozenset({"randint", "randint_like", "integers"})
NORMAL = frozenset({"randn", "randn_like", "normal", "standard_normal"})
FRACTIONS = frozenset({"rand", "rand_like", "random"})
MOST_DRAWS = 4
LEAST = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class LevelApart:
    """A level that the network is told, and noise that does not go with it.

    `drawn` is the draw that moves the level, or the noise where nothing moves the level.
    """

    told: Site
    drawn: Site
    moves_level: bool
    moves_noise: bool  # something moves the noise, another draw where this one moves the level


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a pass is made of: its noisy input, what it is told, the data and noise, and the other draws."""

    one: Minimised
    noisy: Value
    told: tuple[Value, ...]
    data: Value
    noise: Value
    draws: tuple[Applied, ...]
    settings: dict[Value, float]


@remembered
def levels_apart(index: Index, settings: SettingsTree) -> tuple[LevelApart, ...]:
    """Try every pass of a network with noisy input in what is minimised."""
    found: dict[int, LevelApart] = {}
    for one in minimised(index, settings):
        allow_reading(one.run)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for apart in _in(one, settings):
                    found.setdefault(id(apart.told.node), apart)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _in(one: Minimised, settings: SettingsTree) -> Iterator[LevelApart]:
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Applied | Delayed) and is_model_call(one.run.index, value):
            tried = _tried(one, value, settings)
            apart = _judged(tried, value.site) if tried is not None else None
            if apart is not None:
                yield apart


def _tried(one: Minimised, call: Applied | Delayed, settings: SettingsTree) -> _Tried | None:
    noisy, *told = given(call) or [Constant(None)]
    mixed = mixture(one.run, noisy)
    if mixed is None or not told:
        return None
    data, noise = mixed
    if is_drawn(data) or not isinstance(noise, Applied) or noise.callee.rpartition(".")[2] not in NORMAL:
        return None
    if _is_noisy_twice(one, noisy, told, noise):
        return None
    drawn = {id(d): d for value in (noisy, *told) for d in _draws(one, value) if d is not noise}
    if not 1 <= len(drawn) <= MOST_DRAWS:
        return None
    numbers = _settings(one, settings, (noisy, *told, *drawn.values()), frozenset(drawn))
    # What data has a part in is no level: labels, of which some are left out at random.
    levels = [
        value for value in told if not isinstance(value, Constant) and _is_level(one, value, drawn, numbers)
    ]
    if not levels:
        return None
    return _Tried(one, noisy, tuple(levels), data, noise, tuple(drawn.values()), numbers)


def _is_noisy_twice(one: Minimised, noisy: Value, told: Sequence[Value], noise: Applied) -> bool:
    """Whether there is further noise in an input: which of the two the level is about is not known."""
    of_levels = {id(drawn) for value in told for drawn in _draws(one, value)}
    others = (drawn for drawn in _draws(one, noisy) if drawn is not noise and id(drawn) not in of_levels)
    return any(drawn.callee.rpartition(".")[2] in NORMAL for drawn in others)


def _settings(
    one: Minimised, settings: SettingsTree, values: Sequence[Value], drawn: frozenset[int]
) -> dict[Value, float]:
    """The numbers of settings that the values are made with."""
    index = one.run.index
    asked = [operand for value in values for operand in operands_of(index, value, drawn - {id(value)})]
    found = declared_numbers(index, settings, [operand for operand in asked if not is_drawn(operand)])
    return {operand: int(n) if n == int(n) else n for operand, (_, n) in found.items()}


def _draws(one: Minimised, value: Value) -> Iterator[Applied]:
    for inner in ingredients(one.run, value, leading=_outside_loaders):
        if isinstance(inner, Applied) and is_drawn(inner):
            yield inner


def _outside_loaders(value: Value) -> Sequence[Value]:
    return () if is_loader(value) or is_drawn(value) or is_about_shape(value) else tuple(inputs(value))


def _is_level(one: Minimised, value: Value, drawn: dict[int, Applied], numbers: dict[Value, float]) -> bool:
    """Whether a value is made of draws and known numbers alone."""
    operands = [o for o in operands_of(one.run.index, value, frozenset(drawn)) if o not in numbers]
    return bool(operands) and all(id(operand) in drawn for operand in operands)


def _judged(tried: _Tried, site: Site) -> LevelApart | None:
    for shape in SHAPES:
        for level_shape in ((2,), shape):
            moved = _moved(tried, shape, level_shape)
            if moved is not None:
                return _apart(tried, moved, site)
    return None


def _apart(tried: _Tried, moved: list[tuple[bool, bool]], site: Site) -> LevelApart | None:
    """The draw that moves the one and not the other, where no draw moves both."""
    if any(noise and level for noise, level in moved):
        return None
    told = next((d for d, (_, level) in zip(tried.draws, moved, strict=True) if level), None)
    used = next((d for d, (noise, _) in zip(tried.draws, moved, strict=True) if noise), None)
    drawn = told or used
    return LevelApart(site, drawn.site, told is not None, used is not None) if drawn is not None else None


def _moved(
    tried: _Tried, shape: tuple[int, ...], level_shape: tuple[int, ...]
) -> list[tuple[bool, bool]] | None:
    """For each draw, whether the noise in the input, and any level that is told, move with it."""
    found: list[tuple[bool, bool]] = []
    middle = [_numbers(draw, tried.settings)[1] for draw in tried.draws]
    base = _computed(tried, shape, level_shape, middle)
    if base is None:
        return None
    for at, draw in enumerate(tried.draws):
        changed = [False, False]
        for other in (_numbers(draw, tried.settings)[0], _numbers(draw, tried.settings)[2]):
            now = _computed(tried, shape, level_shape, [*middle[:at], other, *middle[at + 1 :]])
            if now is None:
                return None
            changed[0] |= _differs(now[0], base[0])
            changed[1] |= any(_differs(a, b) for a, b in zip(now[1:], base[1:], strict=True))
        found.append((changed[0], changed[1]))
    return found


def _differs(one: float, other: float) -> bool:
    return abs(one - other) > LEAST * max(abs(one), abs(other), LEAST)


def _numbers(draw: Applied, settings: dict[Value, float]) -> tuple[float, float, float]:
    """Three numbers that a draw may give."""
    known = [arg.value if isinstance(arg, Constant) else settings.get(arg) for arg in draw.args]
    name = draw.callee.rpartition(".")[2]
    if name in WHOLE:
        ends = [number for number in known if isinstance(number, int)]
        last = (ends[1] if len(ends) > 1 else ends[0]) - 1 if ends else 9
        first = ends[0] if len(ends) > 1 else 0
        return (
            float(first + (last - first) // 4),
            float((first + last) // 2),
            float(last - (last - first) // 4),
        )
    return (-0.9, 0.3, 1.1) if name in NORMAL else (0.2, 0.45, 0.8)


def _computed(
    tried: _Tried, shape: tuple[int, ...], level_shape: tuple[int, ...], numbers: Sequence[float]
) -> list[float] | None:
    """How much noise there is against the data, and what is told, with these numbers for the draws."""
    levels: list[object] = []
    for draw, number in zip(tried.draws, numbers, strict=True):
        is_whole = draw.callee.rpartition(".")[2] in WHOLE
        levels.append(np.full(level_shape, number).astype(np.int64 if is_whole else np.float64))
    operands = (tried.data, tried.noise, *tried.draws, *tried.settings)
    levels.extend(tried.settings.values())
    index, none, full = tried.one.run.index, np.zeros(shape), np.ones(shape)
    of_noise = score(index, tried.noisy, operands, (none, full, *levels))
    of_data = score(index, tried.noisy, operands, (full, none, *levels))
    told = [score(index, value, operands, (full, full, *levels)) for value in tried.told]
    if of_noise is None or of_data is None:
        return None
    found = [float(np.arctan2(of_noise, of_data)), *(number for number in told if number is not None)]
    return found if len(found) == len(told) + 1 and np.isfinite(found).all() else None
