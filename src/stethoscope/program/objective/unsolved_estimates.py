"""Estimates of the data, or of the noise, that are not what the network is trained to give.

A network with noisy input is held to something: noise, data, a velocity. From its output and its input
samplers and further losses solve for the data or the noise. With what the output is trained to be in its
place, what they solve for has to come out: an estimate of the data without noise, one of noise without data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients, is_drawn, peeled, returned
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.objective.mixed_parts import LEVEL, Parts, parts_of
from stethoscope.program.objective.sampling import Meaning, is_network_call, named_meaning
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import is_model_call
from stethoscope.program.walk.networks import OUTSIDE_NETWORKS
from stethoscope.program.walk.parameter_values import bind, entry_parameters, entry_value
from stethoscope.program.walk.statement_flow import follow_block
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
)

ALL_STEPS = 40_000  # for all functions that sample, together
CLOSE = 1e-4  # numbers that are computed in two ways
LEFT = 0.02  # of an estimate, what may be of the other kind
INPUTS = 2  # a denoiser gets the sample and its noise level
LOADED = frozenset({"load", "from_pretrained", "create_model"})  # ways to a network that is made elsewhere
REGRESSIONS = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss"}
)


@dataclass(frozen=True, slots=True, eq=False)
class UnsolvedEstimate:
    """What is taken for data, or noise, and has the other in it."""

    meaning: Meaning
    estimate: Site
    target: Site
    compared: Site


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    """A network's pass in an objective: the parts of its input and of what its output is held to."""

    run: Execution
    output: Applied | Delayed
    noisy: Parts
    target: Parts
    known: dict[int, Parts]
    target_at: Site
    compared: Site
    level: Parts


@remembered
def unsolved_estimates(index: Index, settings: SettingsTree) -> tuple[UnsolvedEstimate, ...]:
    """Look at the objectives with noisy input, and at what samplers make of the outputs."""
    trained: list[_Trained] = []
    found: dict[object, UnsolvedEstimate] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            for pass_ in _trained(one):
                trained.append(pass_)
                for estimate in _in_objective(one, pass_):
                    found.setdefault(id(estimate.estimate.node), estimate)
        except (Exhausted, RecursionError):
            continue
    if trained and all(_alike(one.target, trained[0].target) for one in trained):
        for estimate in _in_samplers(index, settings, trained[0]):
            found.setdefault(id(estimate.estimate.node), estimate)
    return tuple(found.values())


def _trained(one: Minimised) -> Iterator[_Trained]:
    for left, right, site in comparisons(one):
        for output, target in ((peeled(left), peeled(right)), (peeled(right), peeled(left))):
            if not isinstance(output, Applied | Delayed) or not _is_network(one.run, output):
                continue
            noisy, *told = given(output) or [Constant(None)]
            mixed = mixture(one.run, noisy)
            if mixed is None or not told:
                continue
            known = {id(mixed[0]): Parts(data=1.0), id(mixed[1]): Parts(noise=1.0)}
            level = _level(one.run, told[0])
            known.update({id(peeled(each)): level for each in told if peeled(each) not in mixed})
            of_input, of_target = parts_of(one.run, noisy, known), parts_of(one.run, target, known)
            if of_input is None or of_target is None or of_target.is_scale or not of_input.noise:
                continue
            at = getattr(next(iter(returned(one.run, target))), "site", site)
            yield _Trained(one.run, output, of_input, of_target, known, at, site, level)


def _level(run: Execution, told: Value) -> Parts:
    """The level that stands for all that a network is told: of a number of steps, one well inside."""
    drawn = peeled(told)
    if isinstance(drawn, Applied) and drawn.callee.rpartition(".")[2] == "randint":
        ends = [parts_of(run, arg, {}) for arg in drawn.args[:2] if not isinstance(arg, Items)]
        last = ends[-1] if ends else None
        if last is not None and last.scale > 1:
            return Parts(LEVEL * last.scale)
    return Parts(LEVEL)


def comparisons(one: Minimised) -> Iterator[tuple[Value, Value, Site]]:
    for value in ingredients(one.run, one.sink.value):
        if isinstance(value, Applied) and len(value.args) > 1:
            last = value.callee.removesuffix("()").rpartition(".")[2]
            if last in REGRESSIONS or value.callee == "-":
                yield value.args[0], value.args[1], value.site


def _is_network(run: Execution, value: Value) -> bool:
    if isinstance(value, Applied) and value.maker is not None:
        last = value.callee.removesuffix("()").rpartition(".")[2]
        return bool(OUTSIDE_NETWORKS.match(value.callee)) or last in LOADED
    return is_model_call(run.index, value)


def given(call: Applied | Delayed) -> list[Value]:
    args = call.args[1:] if isinstance(call, Applied) and call.callee == "()" else call.args
    return [*args, *call.keywords.values()]


def mixture(run: Execution, noisy: Value) -> tuple[Value, Value] | None:
    """The data and the noise of a noisy input: `a * data + b * noise`, the noise drawn like the data."""
    for one in ingredients(run, noisy):
        if isinstance(one, Applied) and one.callee in {"+", "-", ".add", "torch.add"} and len(one.args) == 2:
            for left, right in (one.args, one.args[::-1]):
                noise = next((factor for factor in _factors(right) if is_drawn(factor)), None)
                if noise is None:
                    continue
                like = [_shaped(peeled(arg)) for arg in noise.args] if isinstance(noise, Applied) else []
                factors = list(_factors(left))
                data = next((f for f in factors if any(f is peeled(x) or f is x for x in like)), None)
                if data is None and len(factors) == 1 and not isinstance(factors[0], Constant):
                    data = factors[0]
                if data is not None:
                    return data, noise
    return None


def _shaped(size: Value) -> Value:
    """What a size is that of: `x` of `x.shape` and `x.size()`."""
    match size:
        case Part(base=base, key="shape") | Applied(callee=".size", args=[base, *_]):
            return peeled(base)
    return size


def _factors(value: Value) -> Iterator[Value]:
    value = peeled(value)
    if isinstance(value, Applied) and value.callee in {"*", ".mul", "torch.mul"} and len(value.args) == 2:
        for arg in value.args:
            yield from _factors(arg)
    else:
        yield value


def _in_objective(one: Minimised, trained: _Trained) -> Iterator[UnsolvedEstimate]:
    """Estimates that a further term holds to the data or to the noise."""
    known = {**trained.known, id(trained.output): trained.target}
    for left, right, site in comparisons(one):
        if site.node is trained.compared.node:
            continue
        for estimate, target in ((left, right), (right, left)):
            if not _uses(one.run, estimate, trained.output) or _uses(one.run, target, trained.output):
                continue
            got, wanted = parts_of(one.run, estimate, known), parts_of(one.run, target, trained.known)
            if got is None or wanted is None or wanted.is_scale or (wanted.data and wanted.noise):
                continue
            meaning = Meaning.CLEAN if wanted.data else Meaning.NOISE
            if _has_other(got, meaning):
                at = getattr(_formula(one.run, estimate, trained), "site", site)
                yield UnsolvedEstimate(meaning, at, trained.target_at, trained.compared)


def _formula(run: Execution, value: Value, trained: _Trained) -> Value:
    """The innermost formula that joins the output with the noisy input."""
    noisy = peeled(given(trained.output)[0])
    formulas = [one for one in ingredients(run, value) if isinstance(one, Applied) and one.callee in "+-/*"]
    joined = (one for one in reversed(formulas) if _uses(run, one, trained.output))
    return next((one for one in joined if _uses_beside(run, one, noisy, trained.output)), value)


def _uses_beside(run: Execution, value: Applied, noisy: Value, output: Value) -> bool:
    """Whether one side of a formula holds the noisy input and another the output."""
    return any(_uses(run, arg, noisy) and not _uses(run, arg, output) for arg in value.args)


def _uses(run: Execution, value: Value, output: Value) -> bool:
    return any(one is output for one in ingredients(run, value))


def _has_other(got: Parts, meaning: Meaning) -> bool:
    size = abs(got.data) + abs(got.noise)
    other = got.noise if meaning is Meaning.CLEAN else got.data
    return size > 0 and abs(other) > LEFT * size


def _alike(one: Parts, other: Parts) -> bool:
    return abs(one.data - other.data) + abs(one.noise - other.noise) < LEFT


# What samplers make of the output


def _in_samplers(index: Index, settings: SettingsTree, trained: _Trained) -> Iterator[UnsolvedEstimate]:
    left = budget(index, ALL_STEPS)
    for function in index.functions:
        if left <= 0 or is_test(function.source) or not _calls_network(function):
            continue
        run = Execution(index, settings, min(STEPS // 3, left))
        before = run.steps
        with suppress(Exhausted, RecursionError):
            yield from _in_function(run, function, trained)
        left -= before - max(run.steps, 0)


def _calls_network(function: Function) -> bool:
    nodes = own_nodes(function.node)
    is_called = any(isinstance(node, ast.Call) and is_network_call(node) for node in nodes)
    return is_called and any(True for _ in _named(function))


def _named(function: Function) -> Iterator[tuple[ast.Assign, str, Meaning]]:
    """The assignments to names that speak of data or noise."""
    for node in own_nodes(function.node):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                meaning = named_meaning(name) if isinstance(name, ast.Name) else None
                if isinstance(name, ast.Name) and meaning and meaning is not Meaning.VELOCITY:
                    yield node, name.id, meaning


def _in_function(run: Execution, function: Function, trained: _Trained) -> Iterator[UnsolvedEstimate]:
    names = _names_after(run, function, _made_for_training(trained))
    for node, name, meaning in _named(function):
        value = names.get(name)
        outputs = list(_outputs(run, value)) if value is not None else []
        if value is None or not outputs:
            continue
        joined = parts_of(run, value, _known(outputs, Parts(data=1.0), Parts(noise=1.0), trained.level))
        if joined is None or not _has_scales_of(trained.noisy, joined):
            continue  # of another schedule, or of this one with numbers that are not known here
        got = parts_of(run, value, _known(outputs, trained.noisy, trained.target, trained.level))
        if got is not None and _has_other(got, meaning):
            yield UnsolvedEstimate(meaning, Site(function.source, node), trained.target_at, trained.compared)


def _known(outputs: list[Applied | Delayed], noisy: Parts, output: Parts, level: Parts) -> dict[int, Parts]:
    """The parts of the inputs and outputs of a network; all passes are told the same level."""
    known: dict[int, Parts] = {}
    for one in outputs:
        first, *told = given(one)
        known[id(first)] = known[id(peeled(first))] = noisy
        known.update({id(peeled(each)): level for each in told})
        known[id(one)] = output
    return known


def _has_scales_of(noisy: Parts, joined: Parts) -> bool:
    """Whether input and output are scaled by what the corruption is made with."""
    kept, added = abs(noisy.data), abs(noisy.noise)
    scales = {0.0, 1.0, kept, added}
    scales |= {one / other for one in (1.0, kept, added) for other in (kept, added) if other}
    return all(
        any(abs(abs(used) - scale) < CLOSE * (1 + scale) for scale in scales)
        for used in (joined.data, joined.noise)
    )


def _outputs(run: Execution, value: Value) -> Iterator[Applied | Delayed]:
    for one in ingredients(run, value):
        if isinstance(one, Applied | Delayed) and _is_network(run, one) and len(given(one)) >= INPUTS:
            yield one


def _made_for_training(trained: _Trained) -> dict[Class, Instance]:
    """The objects whose methods made the input, where there is one of its class: a schedule."""
    found: dict[Class, set[Instance]] = {}
    for value in given(trained.output):
        for one in ingredients(trained.run, value):
            held = (
                one.callee.bound
                if isinstance(one, Delayed) and isinstance(one.callee, FunctionValue)
                else None
            )
            if isinstance(held, Instance):
                found.setdefault(held.cls, set()).add(held)
    return {cls: one for cls, (one, *others) in found.items() if not others}


def _names_after(run: Execution, function: Function, made: dict[Class, Instance]) -> dict[str, Value]:
    """The names of a function with their values when its statements were followed."""
    owner = function.owner if "staticmethod" not in function.decorators else None
    bound = (made.get(owner) or run.make(owner)) if owner is not None else None
    unknown = {name: entry_value(function, name) for name in entry_parameters(function)}
    names = bind(run, function, bound, (), unknown)
    frame = Frame(run.index.module_of(function.source), names, {}, function, function.owner)
    follow_block(run, function.node.body, frame)
    return frame.names
