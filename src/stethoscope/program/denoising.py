"""Denoising objectives: what the network returns, what it is held to, and how much noise it is told of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.calls import is_network_pass
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.ingredients import has, ingredients, is_drawn, peeled, returned
from stethoscope.program.minimised import Minimised, minimised
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.values import Applied, Constant, Delayed, FunctionValue, Leaf, Part, Site, Value

REGRESSIONS = frozenset({
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
})  # fmt: skip
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
class ScaledNoise:
    """A noise level that is changed on the way to the corruption, while the network is told the original."""

    level: str
    factor: str
    scaled: Site
    told: Site


@dataclass(frozen=True, slots=True, eq=False)
class Denoising:
    """What was seen of denoising objectives; `passes` counts the networks that get noisy input."""

    passes: int
    held: tuple[HeldTo, ...]
    scaled: tuple[ScaledNoise, ...]


@remembered
def denoising(index: Index, settings: SettingsTree) -> Denoising:
    """Look at every minimised value that goes through a network with noisy input."""
    held: dict[object, HeldTo] = {}
    scaled: dict[object, ScaledNoise] = {}
    passes = 0
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for call in _noisy_passes(one):
                passes += 1
                for level in _scaled_noise(one.run, call):
                    scaled.setdefault(id(level.scaled.node), level)
            for comparison in _held_to(one):
                held.setdefault(id(comparison.compared.node), comparison)
        except (Exhausted, RecursionError):
            continue
    return Denoising(passes, tuple(held.values()), tuple(scaled.values()))


def _noisy_passes(one: Minimised) -> Iterator[Delayed]:
    """The passes of networks whose input is data with something random in it."""
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Delayed) and is_network_pass(one.run.index, value):
            first = next(iter((*value.args, *value.keywords.values())), None)
            if first is not None and has(one.run, first, is_drawn):
                yield value


# A preconditioned output and its target


def _held_to(one: Minimised) -> Iterator[HeldTo]:
    for left, right, site in _comparisons(one):
        for prediction, target in ((left, right), (right, left)):
            joined = _joined_output(one.run, peeled(prediction))
            if joined is not None and not _learns(one.run, target):
                is_clean = not has(one.run, target, is_drawn)
                yield HeldTo(_name(peeled(prediction)), joined, site, _text(target), is_clean)


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
            is_noisy = has(run, skip, is_drawn) and not _learns(run, skip)
            if is_noisy and _learns(run, learned) and (_is_scaled(skip) or _is_scaled(learned)):
                return output.site
    return None


def _is_scaled(value: Value) -> bool:
    value = peeled(value)
    return isinstance(value, Applied) and value.callee in {"*", "/"} and _varies(value.args)


def _varies(factors: tuple[Value, ...]) -> bool:
    return sum(not isinstance(factor, Constant) for factor in factors) > 1


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


# Noise levels


def _scaled_noise(run: Execution, call: Delayed) -> Iterator[ScaledNoise]:
    """Levels that the network is told, scaled by the progress of training in the corruption of its input."""
    noisy, *told = (*call.args, *call.keywords.values())
    levels = {id(peeled(value)): value for value in told if not isinstance(value, Constant)}
    for value in ingredients(run, noisy):
        if not (isinstance(value, Applied) and value.callee in {"*", "/"} and len(value.args) == 2):
            continue
        for level, factor in (value.args, value.args[::-1]):
            if id(peeled(level)) in levels and _is_progress(run, factor):
                yield ScaledNoise(_text(level), _text(factor), value.site, call.site)


def _is_progress(run: Execution, factor: Value) -> bool:
    """Whether a factor moves with training and is not itself the noise."""
    if isinstance(factor, Constant) or has(run, factor, is_drawn):
        return False
    return has(run, factor, _speaks_of_progress)


def _speaks_of_progress(value: Value) -> bool:
    match value:
        case Leaf(name=name):
            return bool(PROGRESS.search(name))
        case Part(key=str() as key):
            return bool(PROGRESS.search(key))
        case Delayed(callee=FunctionValue(function=function)):
            return bool(PROGRESS.search(function.name))
    return False
