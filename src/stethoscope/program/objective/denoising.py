"""Denoising objectives: what the network returns, what it is held to, and how much noise it is told of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.ingredients import has, ingredients, is_drawn, peeled, returned
from stethoscope.program.data.input_scales import READING
from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.flat_levels import FlatLevel, flat_levels
from stethoscope.program.objective.flow_steps import FlowStep, flow_steps
from stethoscope.program.objective.levels_apart import LevelApart, levels_apart
from stethoscope.program.objective.recovered import recovered
from stethoscope.program.objective.sampling import INPUTS, NOISE_WORDS, Meaning, Reading, readings
from stethoscope.program.objective.unsolved_estimates import UnsolvedEstimate, unsolved_estimates
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call, is_network_pass
from stethoscope.program.walk.networks import OUTSIDE_NETWORKS
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Leaf,
    Part,
    Site,
    Value,
    inputs,
)

REGRESSIONS = frozenset({
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
})  # fmt: skip
FILLED = frozenset({"full_like", "zeros_like", "ones_like"})
PICKS = frozenset({"randint", "randperm", "permutation", "choice", "integers", "multinomial"})
LEVELS = frozenset({"randint", "randint_like"})  # how steps are drawn; noise itself is not drawn so
PROGRESS = re.compile(r"step|epoch|iter|progress|curricul|difficult|ramp|anneal|schedule", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class HeldTo:
    """A preconditioned network's output that is regressed on something.

    `output` is where the network joins its input with its own prediction; `target_is_clean` says whether
    the target is data alone, with no noise in it.
    """

    network: str
    output: Site
    compared: Site
    target: str
    target_is_clean: bool


@dataclass(frozen=True, slots=True, eq=False)
class Misread:
    """A network that is trained to return one thing while the sampler takes its output for another."""

    trained: Meaning
    read: Meaning
    compared: Site
    reading: Site
    is_solved: bool = False  # the output itself is solved for what it is read as


@dataclass(frozen=True, slots=True, eq=False)
class AgainstFlow:
    """A velocity that is trained to point one way, and a sampler that walks the other."""

    is_to_noise: bool
    target: Site
    step: Site
    compared: Site


@dataclass(frozen=True, slots=True, eq=False)
class ScaledNoise:
    """A noise level that is changed on the way to the corruption, while the network is told the original."""

    level: str
    factor: str
    scaled: Site
    told: Site


@dataclass(frozen=True, slots=True, eq=False)
class ForeignLevel:
    """A level that was drawn for the network alone, while the corruption uses another draw."""

    used: Site
    drawn: Site
    told: Site
    is_filled: bool = False  # something else has the shape of the level, and nothing of it


@dataclass(frozen=True, slots=True, eq=False)
class Denoising:
    """What was seen of denoising objectives; `passes` counts the networks that get noisy input."""

    passes: int
    held: tuple[HeldTo, ...]
    scaled: tuple[ScaledNoise, ...]
    misread: tuple[Misread, ...] = ()
    foreign: tuple[ForeignLevel, ...] = ()
    against: tuple[AgainstFlow, ...] = ()
    unsolved: tuple[UnsolvedEstimate, ...] = ()
    flat: tuple[FlatLevel, ...] = ()
    apart: tuple[LevelApart, ...] = ()


@remembered
def denoising(index: Index, settings: SettingsTree) -> Denoising:
    """Look at every minimised value that goes through a network with noisy input."""
    held: dict[object, HeldTo] = {}
    scaled: dict[object, ScaledNoise] = {}
    foreign: dict[object, ForeignLevel] = {}
    regressed: dict[object, tuple[Meaning, Site]] = {}
    scaled_outputs: list[Misread] = []
    velocities: dict[object, _Velocity] = {}
    flat: dict[object, FlatLevel] = {}
    passes = 0
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for call in _noisy_passes(one):
                passes += 1
                for level in _scaled_noise(one.run, call):
                    scaled.setdefault(id(level.scaled.node), level)
                noisy, *told = _given(call)
                for row in flat_levels(one.run, call, noisy, told):
                    flat.setdefault(id(row.product.node), row)
                for other in _foreign_levels(one.run, call):
                    foreign.setdefault(id(other.drawn.node), other)
            for comparison in _held_to(one):
                held.setdefault(id(comparison.compared.node), comparison)
            for meaning, site in _regressed(one, scaled_outputs):
                regressed.setdefault(id(site.node), (meaning, site))
            for velocity in _velocities(one):
                velocities.setdefault(id(velocity.target.node), velocity)
        except (Exhausted, RecursionError):
            continue
    misread = {id(one.compared.node): one for one in _misread(list(regressed.values()), readings(index))}
    misread.update({id(one.compared.node): one for one in scaled_outputs})
    return Denoising(
        passes,
        tuple(held.values()),
        tuple(scaled.values()),
        tuple(misread.values()),
        tuple(foreign.values()),
        tuple(_against(list(velocities.values()), flow_steps(index))),
        () if misread else unsolved_estimates(index, settings),
        tuple(flat.values()),
        levels_apart(index, settings),
    )


def _noisy_passes(one: Minimised) -> Iterator[Applied | Delayed]:
    """The passes of networks whose input is data with something random in it."""
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Applied | Delayed) and _is_network(one.run, value):
            first = next(iter(_given(value)), None)
            if first is not None and _is_noisy(one.run, first):
                yield value


# A preconditioned output and its target


def _held_to(one: Minimised) -> Iterator[HeldTo]:
    for left, right, site in _outermost(one, list(_comparisons(one))):
        for prediction, target in ((left, right), (right, left)):
            joined = _joined_output(one.run, peeled(prediction))
            if joined is not None and not _learns(one.run, target):
                is_clean = (
                    _is_made_data(one.run, peeled(target))
                    or not _is_noisy(one.run, target)
                    or _is_corrupted_later(one.run, peeled(prediction), peeled(target))
                )
                yield HeldTo(_name(peeled(prediction)), joined, site, _text(target), is_clean)


def _outermost(one: Minimised, found: list[tuple[Value, Value, Site]]) -> Iterator[tuple[Value, Value, Site]]:
    """The comparisons that are no part of another: `(noisy - output) / level` only solves for the noise."""
    sides = [side for left, right, _ in found for side in (left, right)]
    inside = {
        id(value.site.node)
        for side in sides
        for value in ingredients(one.run, side)
        if isinstance(value, Applied)
    }
    yield from (each for each in found if id(each[2].node) not in inside)


def _is_corrupted_later(run: Execution, prediction: Value, target: Value) -> bool:
    """Whether the target went whole into the input: data that were made by chance, with noise put on them."""
    if is_drawn(target) or not isinstance(prediction, Applied | Delayed):
        return False
    given = _given(prediction)
    return bool(given) and any(peeled(one) is target for one in ingredients(run, given[0]))


def _comparisons(one: Minimised) -> Iterator[tuple[Value, Value, Site]]:
    """The pairs whose difference is minimised."""
    for value in ingredients(one.run, one.sink.value):
        if not isinstance(value, Applied) or len(value.args) < 2:
            continue
        last = value.callee.removesuffix("()").rpartition(".")[2]
        if last in REGRESSIONS or value.callee == "-":
            yield value.args[0], value.args[1], value.site


def _joined_output(run: Execution, prediction: Value) -> Site | None:
    """Where the noisy input and what a network makes of it are joined, each with a scale of its own.

    A residual block, `x + body(x)`, has no scale: what it returns need not be the input without its noise.
    """
    for output in map(peeled, returned(run, prediction)):
        if not (isinstance(output, Applied) and output.callee in {"+", "-"} and len(output.args) == 2):
            continue
        for skip, learned in (output.args, output.args[::-1]):
            is_noisy = _is_noisy(run, skip) and not _learns(run, skip)
            if is_noisy and _learns(run, learned) and (_is_scaled(skip) or _is_scaled(learned)):
                return output.site
    return None


def _is_scaled(value: Value) -> bool:
    value = peeled(value)
    return isinstance(value, Applied) and value.callee in {"*", "/"} and _varies(value.args)


def _varies(factors: tuple[Value, ...]) -> bool:
    return sum(not isinstance(factor, Constant) for factor in factors) > 1


def _is_noisy(run: Execution, value: Value) -> bool:
    """Whether something random is in a value; what loaders give is data, however it was made."""
    return any(map(is_drawn, ingredients(run, value, leading=_picked_outside_loaders)))


def _picked_outside_loaders(value: Value) -> Iterable[Value]:
    """What is picked at random is data, however it was made: which samples are picked makes none noisier."""
    if isinstance(value, Applied) and value.callee == "[]":
        return () if any(map(_is_random_pick, value.args[1:])) else value.args[:1]
    return _outside_loaders(value)


def _is_random_pick(index: Value, depth: int = 4) -> bool:
    """`data[torch.randint(len(data), (32,))]`, and a part of `torch.randperm(len(data))`."""
    if isinstance(index, Applied) and index.callee.rpartition(".")[2] in PICKS:
        return True
    return depth > 0 and any(_is_random_pick(one, depth - 1) for one in inputs(index))


def _outside_loaders(value: Value) -> Iterable[Value]:
    return () if is_loader(value) else inputs(value)


def _learns(run: Execution, value: Value) -> bool:
    return has(run, value, lambda one: is_network_pass(run.index, one))


def _name(prediction: Value) -> str:
    match prediction:
        case Delayed(callee=FunctionValue(function=function)) if function.owner is not None:
            return function.owner.name
    return "the prediction"


def _text(value: Value) -> str:
    site = getattr(value, "site", None)
    return (
        " ".join(site.text.split())[:80] if isinstance(site, Site) else getattr(value, "name", "the target")
    )


# What the output is trained to be, and what the sampler takes it for


def _regressed(one: Minimised, misread: list[Misread]) -> Iterator[tuple[Meaning, Site]]:
    """What raw outputs of networks with noisy input and a noise level are held to.

    Outputs that are scaled to the size of the noise and held to the data are added to `misread`.
    """
    for left, right, site in _comparisons(one):
        for prediction, target in ((left, right), (right, left)):
            call = peeled(prediction)
            if isinstance(call, Part) and call.key in {"sample", 0}:
                call = peeled(call.base)
            if _learns(one.run, target):
                continue
            solved = recovered(one.run, prediction)
            if solved is not None and _is_of_other_kind(solved[0], one.run, peeled(target)):
                other = _other_kind(solved[0], peeled(target))
                misread.append(Misread(other, solved[0], site, solved[1], is_solved=True))
                continue
            if _is_scaled_to_noise(one.run, call, peeled(target)):
                misread.append(Misread(Meaning.CLEAN, Meaning.NOISE, site, _site_of(call, site)))
            if not _is_denoiser(one.run, call):
                continue
            if _joined_output(one.run, call) is not None:
                continue
            meaning = _meaning_of(one.run, call, peeled(target))
            if meaning is not None:
                yield meaning, site


def _is_of_other_kind(meaning: Meaning, run: Execution, target: Value) -> bool:
    """Whether the target of an estimate of the data has noise in it, or that of the noise has none."""
    if meaning is Meaning.CLEAN:
        return is_drawn(target) or _is_rotated(target, {id(one) for one in ingredients(run, target)})
    return not _is_noisy(run, target)


def _other_kind(meaning: Meaning, target: Value) -> Meaning:
    if meaning is Meaning.NOISE:
        return Meaning.CLEAN
    return Meaning.NOISE if is_drawn(target) else Meaning.VELOCITY


def _is_drawn_or_loaded(value: Value) -> bool:
    return is_drawn(value) or is_loader(value)


def _is_scaled_to_noise(run: Execution, output: Value, target: Value) -> bool:
    """`std * net(clean + std * noise) - clean`: an output that vanishes with the noise, held to the data."""
    if not (isinstance(output, Applied) and output.callee == "*" and len(output.args) == 2):
        return False
    for call, level in (output.args, output.args[::-1]):
        call = peeled(call)
        if not _is_denoiser(run, call) or _meaning_of(run, call, target) is not Meaning.CLEAN:
            continue
        assert isinstance(call, Applied | Delayed)
        for one in ingredients(run, _given(call)[0], leading=_outside_loaders):
            if isinstance(one, Applied) and one.callee == "*" and any(map(is_drawn, map(peeled, one.args))):
                return any(peeled(arg) is peeled(level) for arg in one.args)
    return False


def _site_of(value: Value, otherwise: Site) -> Site:
    site = getattr(value, "site", None)
    return site if isinstance(site, Site) else otherwise


def _is_denoiser(run: Execution, call: Value) -> bool:
    if not isinstance(call, Applied | Delayed) or not _is_network(run, call):
        return False
    given = _given(call)
    return len(given) >= INPUTS and _is_noisy(run, given[0])


def _is_network(run: Execution, call: Value) -> bool:
    if isinstance(call, Applied) and call.callee.endswith("()") and OUTSIDE_NETWORKS.match(call.callee):
        return True
    return is_model_call(run.index, call)


def _given(call: Applied | Delayed) -> list[Value]:
    args = call.args[1:] if isinstance(call, Applied) and call.callee == "()" else call.args
    return [*args, *call.keywords.values()]


def _meaning_of(run: Execution, call: Value, target: Value) -> Meaning | None:
    """Noise that was drawn, or data that the noisy input was made from."""
    assert isinstance(call, Applied | Delayed)
    noisy = list(ingredients(run, _given(call)[0]))
    if _is_rotated(target, {id(one) for one in noisy}):
        return Meaning.VELOCITY
    if not any(one is target for one in noisy):
        return None
    if is_drawn(target):
        return Meaning.NOISE
    is_data = _is_made_data(run, target) or not _is_noisy(run, target)
    return Meaning.CLEAN if is_data and not isinstance(target, Constant) else None


def _is_rotated(target: Value, noisy: set[int]) -> bool:
    """`a * noise - b * data` of the noise and the data in the input, or a scheduler's `get_velocity`."""
    if not isinstance(target, Applied):
        return False
    if target.callee.rpartition(".")[2] == "get_velocity":
        return True
    if target.callee != "-" or len(target.args) != 2:
        return False
    factors = []
    for product in map(peeled, target.args):
        if not (isinstance(product, Applied) and product.callee == "*"):
            return False
        factors.append([arg for arg in map(peeled, product.args) if id(arg) in noisy])
    noises = [any(map(is_drawn, ones)) for ones in factors]
    return noises == [True, False] and bool(factors[1])


def _is_made_data(run: Execution, target: Value) -> bool:
    """Whether a function of the repository makes it up from numbers, as toy data is made."""
    match target:
        case Delayed(callee=FunctionValue(function=function), args=args):
            is_noise = NOISE_WORDS.intersection(words(function.name))
            return not is_noise and not any(has(run, arg, _is_drawn_or_loaded) for arg in args)
    return False


def _misread(regressed: list[tuple[Meaning, Site]], found: tuple[Reading, ...]) -> Iterator[Misread]:
    """Objectives whose samplers, in the same file or all over the program, agree on something else."""
    for meaning, site in regressed:
        near = [reading for reading in found if reading.site.source is site.source]
        is_alone = len({other for other, _ in regressed}) == 1
        asked = near or (list(found) if is_alone else [])
        if asked and len({reading.meaning for reading in asked}) == 1 and asked[0].meaning is not meaning:
            yield Misread(meaning, asked[0].meaning, site, asked[0].site)


# The direction of a flow


@dataclass(frozen=True, slots=True, eq=False)
class _Velocity:
    """A difference of data and noise that a network is held to."""

    is_to_noise: bool
    target: Site
    compared: Site


def _velocities(one: Minimised) -> Iterator[_Velocity]:
    for left, right, site in _comparisons(one):
        for prediction, target in ((left, right), (right, left)):
            if not _is_denoiser(one.run, peeled(prediction)):
                continue
            for value in map(peeled, returned(one.run, peeled(target))):
                if isinstance(value, Applied) and value.callee == "-" and len(value.args) == 2:
                    first, second = (_is_noisy(one.run, arg) for arg in value.args)
                    if first != second:
                        yield _Velocity(first, value.site, site)


def _against(velocities: list[_Velocity], steps: tuple[FlowStep, ...]) -> Iterator[AgainstFlow]:
    """Velocities whose samplers, all of them, walk the other way."""
    if len({velocity.is_to_noise for velocity in velocities}) != 1 or len({step.sign for step in steps}) != 1:
        return
    for velocity in velocities:
        if (steps[0].sign > 0) is velocity.is_to_noise:
            yield AgainstFlow(velocity.is_to_noise, velocity.target, steps[0].site, velocity.compared)


# Noise levels


def _scaled_noise(run: Execution, call: Applied | Delayed) -> Iterator[ScaledNoise]:
    """Levels that the network is told, scaled by the progress of training in the corruption of its input."""
    noisy, *told = _given(call)
    levels = {id(peeled(value)): value for value in told if not isinstance(value, Constant)}
    for value in ingredients(run, noisy):
        if not (isinstance(value, Applied) and value.callee in {"*", "/"} and len(value.args) == 2):
            continue
        for level, factor in (value.args, value.args[::-1]):
            if id(peeled(level)) in levels and _is_progress(run, factor):
                yield ScaledNoise(_text(level), _text(factor), value.site, call.site)


def _foreign_levels(run: Execution, call: Applied | Delayed) -> Iterator[ForeignLevel]:
    """A level drawn like that of the corruption, which has no part in it; nothing else tells of that one."""
    noisy, *told = _given(call)
    if _is_place_in_space(noisy):
        return
    yield from _drawn_twice(run, call, noisy, told)
    used = {id(one): one for one in ingredients(run, noisy, leading=_outside_loaders) if _is_level(one)}
    given = [one for value in told for one in ingredients(run, value) if _is_level(one)]
    if not used or any(id(one) in used for one in given):
        return
    for value in map(peeled, told):
        for other in used.values():
            if isinstance(value, Applied) and isinstance(other, Applied) and value.callee == other.callee:
                yield ForeignLevel(other.site, value.site, call.site)
                return


def _is_place_in_space(value: Value) -> bool:
    """Whether an input is a draw and nothing else: where an equation is asked, or a generator's code."""
    value = peeled(value)
    while isinstance(value, Applied) and value.callee.endswith("requires_grad_") and value.args:
        value = peeled(value.args[0])
    return is_drawn(value)


def _drawn_twice(
    run: Execution, call: Applied | Delayed, noisy: Value, told: Sequence[Value]
) -> Iterator[ForeignLevel]:
    """A level that the same lines drew once for the corruption, and once more for the network."""
    used = [one for one in ingredients(run, noisy, leading=_outside_loaders) if _has_place(one)]
    drawn = {id(one) for one in used}
    of_told = [(value, list(_bare_draws(run, value))) for value in told]
    if any(id(one) in drawn for value, draws in of_told for one in draws if not _is_filled(value)):
        return
    for value, draws in of_told:
        filled = peeled(value)
        if _is_filled(value) and isinstance(filled, Applied):
            of_fill = [one for arg in filled.args[1:] for one in _bare_draws(run, arg)]
            used_ones = [one for one in draws if id(one) in drawn and one not in of_fill]
            if used_ones:
                yield ForeignLevel(used_ones[0].site, filled.site, call.site, is_filled=True)
                return
    for value, draws in of_told:
        for one in draws:
            for other in used:
                if one.site.node is other.site.node:
                    yield ForeignLevel(other.site, _site_of(peeled(value), one.site), call.site)
                    return


def _is_filled(value: Value) -> bool:
    """`torch.full_like(level, x)`: of the level only its shape is told."""
    value = peeled(value)
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in FILLED


def _bare_draws(run: Execution, value: Value) -> Iterator[Applied]:
    """The draws that a value is made of, where it is made of draws, numbers and settings alone."""
    found = []
    for one in ingredients(run, value, leading=_outside_draws):
        if is_loader(one) or is_network_pass(run.index, one) or _is_read(one):
            return
        if _has_place(one):
            found.append(one)
    yield from found


def _outside_draws(value: Value) -> Iterable[Value]:
    """What a value is made of: of a draw, and of what a function is given, often only the size is used."""
    return () if is_drawn(value) or isinstance(value, Delayed) else inputs(value)


def _has_place(value: Value) -> TypeGuard[Applied]:
    return isinstance(value, Applied) and is_drawn(value)


def _is_read(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in READING


def _is_level(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in LEVELS


def _is_progress(run: Execution, factor: Value) -> bool:
    """Whether a factor moves with training and is not itself the noise."""
    if isinstance(factor, Constant) or _is_noisy(run, factor):
        return False

    def of_progress(value: Value) -> Iterable[Value]:
        """What batches are is data: how far a run had come says which of them were skipped."""
        is_batch = isinstance(value, Part) and value.key == "*" and has(run, value.base, is_loader)
        return () if is_batch else inputs(value)

    return any(map(_speaks_of_progress, ingredients(run, factor, leading=of_progress)))


def _speaks_of_progress(value: Value) -> bool:
    match value:
        case Leaf(name=name):
            return bool(PROGRESS.search(name))
        case Part(key=str() as key):
            return bool(PROGRESS.search(key))
        case Delayed(callee=FunctionValue(function=function)):
            return bool(PROGRESS.search(function.name))
    return False
