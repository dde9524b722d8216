"""In which precision each training loop runs, and whether its loss is scaled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.training_loop import TrainingLoop, training_loops
from stethoscope.program.precision.apex import initialised, is_scaled_by_apex
from stethoscope.program.precision.autocast import Autocast, autocast_of, engine_autocast
from stethoscope.program.precision.called_objects import called
from stethoscope.program.precision.framework_precision import told_precision
from stethoscope.program.precision.framework_scaling import engine_scales, hook_scales
from stethoscope.program.precision.half_weights import forced
from stethoscope.program.precision.wrapped_regions import wrapped_region
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Leaf,
    Part,
    Site,
    Value,
    choice,
    inputs,
)

MORE_STEPS = 4_000  # for looking at what a walk met, beyond what the walk itself took
WITHOUT_GRADIENT = frozenset({"no_grad", "inference_mode"})


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """An autocast region of a loop, and where it is opened."""

    autocast: Autocast
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class LoopPrecision:
    """How a loop trains: its autocast regions, and how its backward passes are scaled.

    `scalers` are the scaler objects that were seen to be made; `scaled` says that something scales the
    loss: a scaler, an engine, or a factor by hand.
    """

    loop: TrainingLoop
    regions: tuple[Region, ...]
    scalers: tuple[Applied, ...]
    scaled: bool


@remembered
def loop_precisions(index: Index, settings: SettingsTree) -> tuple[LoopPrecision, ...]:
    """How each training loop of the program runs."""
    return tuple(_precision(loop) for loop in training_loops(index, settings))


def _precision(loop: TrainingLoop) -> LoopPrecision:
    loop.run.steps = max(loop.run.steps, MORE_STEPS)
    regions = {id(region.site.node): region for region in _regions(loop)}
    scalers = tuple(_scalers(loop))
    found = tuple(regions.values()) or tuple(_of_engine(loop))
    return LoopPrecision(loop, found, scalers, _is_scaled(loop, scalers))


def _of_engine(loop: TrainingLoop) -> Iterator[Region]:
    """The region that accelerate, Fabric or Lightning opens around the network, where nothing else does."""
    if loop.hook is not None:
        precision = told_precision(loop.run.index, loop.run.settings)
        if precision is not None and precision.site is not None and precision.weights is None:
            yield Region(precision.region, precision.site)
        return
    for move in loop.of(Kind.BACKWARD):
        engine = move.event.receiver if move.by_engine and isinstance(move.event, Call) else None
        while isinstance(engine, Part):
            engine = engine.base
        region = engine_autocast(stated(loop.run.index, loop.run.settings, engine))
        if region is not None and not region.is_off and isinstance(engine, Applied):
            yield Region(region, engine.site)


def _regions(loop: TrainingLoop) -> Iterator[Region]:
    for event in loop.events:
        if isinstance(event, Call) and not _is_about_evaluation(event, loop):
            for scope in event.scopes():
                found = autocast_of(entered_value(loop.run, scope)) if scope.kind == "with" else None
                if found is not None and not found.is_off:
                    yield Region(found, Site(scope.source, scope.node))
            for function in event.within:
                yield from decorated(loop.run, function)
            if event.name in {"enter_context", "__enter__"}:
                given = event.args[0] if event.args else event.receiver
                entered = autocast_of(given)
                if entered is not None and not entered.is_off:
                    yield Region(entered, event.site)
    for cast in initialised(loop.trace.events):
        yield Region(cast.autocast, cast.site)
    for move in loop.of(Kind.FORWARD):
        reached = called(loop.run, move.event) if isinstance(move.event, Call) else None
        for instance in networks(reached):
            forward = loop.run.index.method(instance.cls, "forward")
            if forward is not None:
                yield from decorated(loop.run, forward)
                yield from _inside(loop.run, forward, instance)


def _is_about_evaluation(event: Event, loop: TrainingLoop) -> bool:
    """Whether an event is of a part that only looks: under no_grad or inference_mode."""
    for scope in event.scopes():
        if loop.body is not None and scope.node is loop.body.node:
            return False
        if scope.kind == "with" and _last_name(scope.value) in WITHOUT_GRADIENT:
            return True
        if scope.kind == "call" and _has_decorator(scope.node, WITHOUT_GRADIENT):
            return True
    return False


def _last_name(value: Value | None) -> str:
    return value.callee.rpartition(".")[2] if isinstance(value, Applied) else ""


def _has_decorator(node: ast.AST, names: frozenset[str]) -> bool:
    decorators = getattr(node, "decorator_list", ())
    written = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    return any((dotted(one) or "").rpartition(".")[2] in names for one in written)


def entered_value(run: Execution, scope: Scope) -> Value | None:
    """What a `with` enters, with its options as they stand.

    Where a function of the repository makes it: what that gives.
    """
    value = scope.value
    inside = wrapped_region(run, value)
    if inside is not None:
        value = inside
    elif isinstance(value, Delayed | Choice):
        run.steps = max(run.steps, MORE_STEPS)
        try:
            options = value.options if isinstance(value, Choice) else (value,)
            value = choice(*(run.force(option) for option in options))
        except (Exhausted, RecursionError):
            return None
    if autocast_of(value) is None:
        return value
    return stated(run.index, run.settings, _with_made_options(run, value))


def _with_made_options(run: Execution, value: Value | None) -> Value | None:
    """A region whose options are what functions of the repository give: `autocast("cuda", best_type())`."""
    if not isinstance(value, Applied) or not any(
        isinstance(one, Delayed) for one in (*value.args, *value.keywords.values())
    ):
        return value
    run.steps = max(run.steps, MORE_STEPS)
    try:
        args = tuple(run.force(one) for one in value.args)
        return replace(
            value, args=args, keywords={key: run.force(one) for key, one in value.keywords.items()}
        )
    except (Exhausted, RecursionError):
        return value


def networks(value: Value | None) -> Iterator[Instance]:
    """The networks of the repository that a value may be."""
    match value:
        case Instance():
            yield value
        case Choice(options=options):
            for option in options:
                yield from networks(option)
        case FunctionValue(bound=Instance() as bound):
            yield bound


def decorated(run: Execution, function: Function) -> Iterator[Region]:
    """The regions that a function's decorators open around it."""
    module = run.index.module_of(function.source)
    for decorator in function.node.decorator_list:
        if "autocast" not in ast.dump(decorator):
            continue
        called = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
        ast.copy_location(called, decorator)
        found = autocast_of(_evaluated(run, called, Frame(module, {})))
        if found is not None and not found.is_off:
            yield Region(found, Site(function.source, decorator))


def _inside(run: Execution, function: Function, instance: Instance) -> Iterator[Region]:
    """The regions that a network opens in its own forward pass."""
    module = run.index.module_of(function.source)
    first = function.parameters[0] if function.parameters else "self"
    for node in own_nodes(function.node):
        for item in node.items if isinstance(node, ast.With) else ():
            value = _evaluated(run, item.context_expr, Frame(module, {first: instance}))
            found = autocast_of(value)
            if found is not None and not found.is_off:
                yield Region(found, Site(function.source, item.context_expr))


def _evaluated(run: Execution, node: ast.expr, frame: Frame) -> Value:
    try:
        return run.evaluate(node, frame)
    except (Exhausted, RecursionError):
        return Leaf("unknown")


def _scalers(loop: TrainingLoop) -> Iterator[Applied]:
    """The scalers that the loop's calls go to, as they were made."""
    seen: set[int] = set()
    for event in loop.events:
        if not isinstance(event, Call):
            continue
        for value in (event.receiver, event.callee):
            for made in _made(forced(loop.run, value) if value is not None else None):
                if made.callee.endswith(("GradScaler", "NativeScaler")) and id(made) not in seen:
                    seen.add(id(made))
                    yield made


def _made(value: Value | None) -> Iterator[Applied]:
    if isinstance(value, Choice):
        for option in value.options:
            yield from _made(option)
    elif isinstance(value, Applied):
        yield value


def _is_scaled(loop: TrainingLoop, scalers: tuple[Applied, ...]) -> bool:
    backward = loop.of(Kind.BACKWARD)
    index, settings = loop.run.index, loop.run.settings
    if loop.trace.by_hand and backward and not any(move.by_engine for move in backward):
        pass  # `loss.backward()` in a hook that optimizes by hand goes past the framework's scaler
    elif loop.hook is not None:
        if hook_scales(index, settings).get(loop.hook.name) is not False:
            return True
    elif any(
        move.by_engine and engine_scales(index, settings, _engine(move)) is not False for move in backward
    ):
        return True
    if _are_off(loop, scalers):
        return False
    if any(move.scaled for move in backward):
        return True
    if loop.of(Kind.SCALER_STEP, Kind.SCALER_UPDATE, Kind.UNSCALE):
        return True
    if any(is_scaled_by_apex(move.event) for move in backward):
        return True
    return any(_is_multiplied(loop, move) for move in backward) or any(map(_is_unfollowed, backward))


def _engine(move: Move) -> Value | None:
    return move.event.receiver if isinstance(move.event, Call) else None


def _are_off(loop: TrainingLoop, scalers: tuple[Applied, ...]) -> bool:
    """Whether every scaler of the loop is switched off by a plain word."""
    switches = [scaler.keywords.get("enabled") for scaler in scalers]
    steps = [move.event for move in loop.of(Kind.SCALER_STEP)]
    are_seen = all(isinstance(event, Call) and any(_made(event.receiver)) for event in steps)
    are_off = all(isinstance(switch, Constant) and switch.value is False for switch in switches)
    return bool(scalers) and are_seen and are_off


def _is_unfollowed(move: Move) -> bool:
    """A backward pass of something that could not be followed may be of a loss that was scaled there."""
    event = move.event
    return (
        isinstance(event, Call) and isinstance(event.receiver, Part | Leaf) and _names_scale(event.receiver)
    )


def _names_scale(value: Value) -> bool:
    name = value.key if isinstance(value, Part) else getattr(value, "name", "")
    return isinstance(name, str) and "scale" in name.lower()


def _is_multiplied(loop: TrainingLoop, move: Move) -> bool:
    """A scale by hand, or a scaler inside: `(loss * loss_scale).backward()`."""
    waiting: list[tuple[Value | None, int]] = [(move.subject, 0)]
    if isinstance(move.event, Call):
        waiting.append((move.event.receiver, 0))
        if "scale" in move.event.site.text.lower():
            return True
    while waiting:
        value, depth = waiting.pop()
        if value is None or depth > 3:
            continue
        if isinstance(value, Applied):
            if value.callee == ".scale" or role_of(loop.run, value) is Role.SCALER:
                return True
            if value.callee == "*" and any(_is_scale(arg) for arg in value.args):
                return True
        if isinstance(value, Delayed | Applied | Choice):
            waiting.extend((one, depth + 1) for one in inputs(value))
    return False


def _is_scale(value: Value) -> bool:
    if isinstance(value, Part | Leaf):
        return _names_scale(value)
    number = getattr(value, "value", None)
    return isinstance(number, int | float) and not isinstance(number, bool) and number >= 64
