"""Weights in half precision are trained by a plain optimizer, without a float32 copy of them.

## What it checks
Networks whose weights are cast to half (`model.half()`, `.bfloat16()`, `.to(torch.float16)`), loaded with
`torch_dtype=` or made after `torch.set_default_dtype`, and whose parameters go to an optimizer of torch that
a training loop steps.

## Why it matters
bfloat16 keeps 8 bits of a number: an update smaller than 1/256 of a weight is rounded away, which is nearly
every update at usual learning rates. In float16, Adam's epsilon of 1e-8 is 0 and its squared gradients
vanish, so the first step divides by zero and the weights become inf or NaN.

## When it is harmless
Frozen half networks (teachers, encoders) are not trained. Adapters (peft) that are put into a half network
hold their own float32 weights; those that are there when it is cast are cast with it. Optimizers that keep
float32 copies or round stochastically and deepspeed are left alone (FSDP keeps what it gets), and so is a
network that is cast back with `.float()`. Full fine-tuning in bfloat16 is sometimes chosen for memory, at
the price of these updates.

## References
- Zamirai et al., "Revisiting BFloat16 Training"
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced, with_keyword
from stethoscope.program.loop.configured_optimizers import configured_optimizers
from stethoscope.program.loop.moves import Move, full_name, same_object
from stethoscope.program.loop.parameter_owners import owners_of, unwrapped
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.precision.autocast import HALVES, DType, named_dtype
from stethoscope.program.precision.framework_precision import told_precision
from stethoscope.program.precision.framework_scaling import outside_name
from stethoscope.program.precision.half_parts import half_parts
from stethoscope.program.precision.half_weights import forced, half_made, may_stay_single, weights_cast
from stethoscope.program.precision.loop_precision import networks
from stethoscope.program.precision.recast_weights import SETTING_UP, made_half, recast
from stethoscope.program.precision.trainer_weights import loaded_for_trainers, trains_otherwise
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import (
    Applied,
    ClassValue,
    Constant,
    Delayed,
    Instance,
    Part,
    Site,
    Value,
    inputs,
)
from stethoscope.run import Fix, Level
from stethoscope.signals.half_precision import HalfPrecision
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="PRC109", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

DEEPEST = 8  # values looked through from an optimizer's argument to the network
# Words in the names of what keeps float32 copies, or trains other weights than those of the network.
KEEPING = (
    *("fp16_optimizer", "fp16optimizer", "bf16optimizer", "master", "deepspeed"),
    *("stochastic", "kahan"),
)
ADAPTING = ("peft", "lora", "adapter")
PARAMETERS = frozenset({".parameters", ".named_parameters"})
COPYING = frozenset({".float", ".clone", ".type", ".double", "copy.deepcopy"})


def examine(loops: TrainingLoops | None, half: HalfPrecision) -> Iterator[Finding]:
    """Report each optimizer of torch that trains half weights."""
    loaded = list(loaded_for_trainers(half.sections.index, half.settings))
    if loops is None and not trainers_made(half.sections.index):
        raise InsufficientData("no backward pass was found in the source")
    for one in loaded:
        yield _finding(one.loaded, one.dtype, one.trainer, "the trainer", False)
    reported: set[ast.AST] = set()
    for loop in loops or ():
        yield from _cast_by_trainer(loop, half.settings, reported)
        for holder in configured_optimizers(loop.trace) if loop.hook is not None else ():
            yield from _parts_made_half(loop, holder.call, reported)
        updates = [move for move in loop.moves if move.updates and not move.by_engine]
        if not updates or _keeps_copies(loop) or _is_told_to_widen(loop):
            continue
        for made in _optimizers(loop):
            if not any(same_object(move.subject, _result(loop, made)) for move in updates):
                continue
            for where, dtype in _half_networks(loop, made):
                if where.site.node not in reported and _is_before(loop, where, updates[-1]):
                    reported.add(where.site.node)
                    is_open = isinstance(where, Call) and may_stay_single(where, loop.run)
                    engine = _engine(loop, where)
                    yield _finding(where.site, dtype, made.site, made.name, is_open, engine)
            yield from _parts_made_half(loop, made, reported)


def _parts_made_half(loop: TrainingLoop, made: Call, reported: set[ast.AST]) -> Iterator[Finding]:
    """Parts that a network's own constructor casts, where an optimizer has the whole network."""
    owners, is_known = owners_of(loop.run, made.argument(0, "params"))
    nets = [one for one in owners if isinstance(one, Instance) and half_parts(loop.run.index, one.cls)]
    if not nets or not is_known or trains_otherwise(loop.run.index) or _keeps_copies(loop):
        return
    calls = [event for event in loop.trace.events if isinstance(event, Call)]
    for net in nets:
        back = (call for call in calls if call.receiver is net and call.name in {"to", "float", "double"})
        if any(call.name != "to" or "float32" in call.site.text for call in back):
            continue
        for site, dtype in half_parts(loop.run.index, net.cls):
            if site.node not in reported:
                reported.add(site.node)
                yield _finding(site, dtype, made.site, made.name, False)


def _is_before(loop: TrainingLoop, cast: Event, update: Move) -> bool:
    """Whether a cast comes before the last update: one after it is for saving or use."""
    events = loop.trace.events
    return update.event not in events or events.index(cast) < events.index(update.event)


def _cast_by_trainer(loop: TrainingLoop, settings: SettingsTree, reported: set[ast.AST]) -> Iterator[Finding]:
    """Weights that Lightning casts: `Trainer(precision="bf16-true")`."""
    told = told_precision(loop.run.index, settings) if loop.hook is not None else None
    if told is None or told.weights is None or told.site is None or loop.hook is None:
        return
    call, owner = told.site.node, loop.hook.owner
    if not isinstance(call, ast.Call) or owner is None or call in reported:
        return  # deepspeed, which keeps copies, is told by a table
    around = f"{ast.unparse(call)} {loop.hook.source.text}".lower()
    if any(word in around for word in (*ADAPTING, *KEEPING)):
        return
    method = loop.run.index.method(owner, "configure_optimizers")
    home = loop.run.index.module_of(method.source) if method is not None else None
    for node in own_nodes(method.node) if method is not None and home is not None else ():
        name = outside_name(loop.run.index, home, node) if isinstance(node, ast.Call) and home else ""
        if name.startswith("torch.optim.") and "lr_scheduler" not in name and method is not None:
            reported.add(call)
            made = Site(method.source, node)
            yield _finding(told.site, told.weights, made, name.rpartition(".")[2], False)
            return


def _engine(loop: TrainingLoop, event: Event) -> Site | None:
    """Where the engine that casts weights in `setup` is told to: `Fabric(precision="bf16-true")`."""
    if not isinstance(event, Call) or event.name not in SETTING_UP:
        return None
    engine = stated(loop.run.index, loop.run.settings, event.receiver)
    return engine.site if isinstance(engine, Applied) else None


def _finding(
    cast: Site, dtype: DType, made: Site, name: str, open_: bool, engine: Site | None = None
) -> Finding:
    adaptive = "adam" in name.lower() and dtype is DType.FLOAT16
    lost = (
        "Adam's epsilon and squared gradients are 0 there, and the weights become inf or NaN"
        if adaptive
        else "updates much smaller than a weight are rounded away"
    )
    return Finding(
        where=(cast.where, made.where, *([engine.where] if engine is not None else ())),
        message=f"the weights are {dtype}{' under some settings' if open_ else ''} and {name} trains "
        f"them without a float32 copy: {lost}",
        evidence={"cast": cast.text, "optimizer": made.text, "adaptive": adaptive},
        strength=0.9 if dtype is DType.FLOAT16 else 0.7,
        severity=Severity.NOTE if open_ else Severity.CRITICAL if adaptive else None,
        fix=_mixed(cast) or _loaded_whole(cast, dtype, name),
    )


def _mixed(cast: Site) -> Fix | None:
    """Weights in float32 and autocast around them, where an engine is told the precision by a word."""
    told = [
        word.value
        for node in all_nodes(cast.source.tree, ast.Call)
        for word in node.keywords
        if word.arg == "precision" and str(getattr(word.value, "value", "")).endswith("-true")
    ]
    kept = isinstance(cast.node, ast.Call) and bool({"setup", "setup_module"} & {_called(cast.node)})
    is_here = any(one in all_nodes(cast.node) for one in told)
    if len(told) != 1 or not isinstance(told[0], ast.Constant) or not (is_here or kept):
        return None
    word = str(told[0].value).replace("-true", "-mixed")
    splice = replaced(cast.source, told[0], f'"{word}"')
    return Fix(f"train with {word}", Level.UNSAFE, (splice,)) if splice is not None else None


def _loaded_whole(cast: Site, dtype: DType, name: str) -> Fix | None:
    """Weights loaded in float32; a trainer is told of the half precision, which it takes for autocast."""
    node, source = cast.node, cast.source
    given = [word.value for word in getattr(node, "keywords", ()) if word.arg in {"torch_dtype", "dtype"}]
    if not isinstance(node, ast.Call) or _called(node) != "from_pretrained" or len(given) != 1:
        return None
    if not ast.unparse(given[0]).startswith("torch."):
        return None
    splices = [replaced(source, given[0], "torch.float32")]
    if name == "the trainer":
        calls = (one for one in all_nodes(source.tree, ast.Call))
        arguments = [one for one in calls if _called(one).endswith("TrainingArguments")]
        if len(arguments) != 1:
            return None
        switch = "fp16" if dtype is DType.FLOAT16 else "bf16"
        splices.append(with_keyword(source, arguments[0], switch, "True"))
    if None in splices:
        return None
    title = "keep the weights in float32"
    return Fix(title, Level.UNSAFE, tuple(one for one in splices if one is not None))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _optimizers(loop: TrainingLoop) -> Iterator[Call]:
    for event in loop.trace.events:
        if not isinstance(event, Call) or not event.args:
            continue
        name = full_name(event)
        made = Applied(name, (), {}, event.site)
        if name.startswith(("torch.optim.", "transformers.")) and role_of(loop.run, made) is Role.OPTIMIZER:
            yield event


def _result(loop: TrainingLoop, made: Call) -> Value | None:
    """The optimizer that a call made, as the walk knows it; None where it cannot be told."""
    for record in loop.run.records:
        if record.value.site.node is made.site.node:
            return record.value
    return None


def _half_networks(loop: TrainingLoop, made: Call) -> Iterator[tuple[Event, DType]]:
    trained = _with_built(loop, _tree(made.args[0]))
    if any(isinstance(value, Applied) and value.callee in COPYING for value in trained):
        return
    yield from _made_half(loop, made, trained)
    parts = [*trained, *_parts(trained)]
    yield from _layers_made_half(loop, parts)
    for event in loop.trace.events:
        found = recast(event, loop.run)
        if found is not None and any(one is value for one in found[1] for value in trained):
            if not _is_adapted_after(loop, event, made):
                yield event, found[0]
            continue
        if not isinstance(event, Call):
            continue
        dtype = weights_cast(event, loop.run)
        is_network = _is_network(loop, event.receiver) or _gives_parameters(event.receiver, trained)
        if dtype is not None and is_network and _is_trained(event.receiver, parts):
            if not _is_undone(loop, event) and not _is_adapted_after(loop, event, made):
                yield event, dtype
        elif event.name.startswith("from_"):
            for value in trained:
                if isinstance(value, Applied) and value.site.node is event.site.node:
                    loaded = half_made(value)
                    if loaded is None or _is_cast_back(loop, value) or _is_adapted_after(loop, event, made):
                        continue
                    yield event, loaded


def _layers_made_half(loop: TrainingLoop, parts: list[Value]) -> Iterator[tuple[Event, DType]]:
    """Layers that are made in half: `nn.Linear(width, width, dtype=torch.bfloat16)`."""
    layers = [value for value in parts if isinstance(value, Applied)]
    made = {layer.site.node: dtype for layer in layers if (dtype := made_half(layer)) is not None}
    calls = [event for event in loop.trace.events if isinstance(event, Call)] if made else []
    casts = [call.receiver for call in calls if call.name in {"float", "double"}]
    if any(cast is part for cast in casts for part in parts):
        return
    for call in calls:
        if call.site.node in made:
            yield call, made[call.site.node]
            return


def _made_half(loop: TrainingLoop, made: Call, trained: list[Value]) -> Iterator[tuple[Call, DType]]:
    """Networks that are made after `torch.set_default_dtype(torch.bfloat16)`, if that is never taken back."""
    calls = [event for event in loop.trace.events if isinstance(event, Call)]
    if not any(full_name(event) == "torch.set_default_dtype" for event in calls):
        return
    classes = {value.cls for value in trained if isinstance(value, Instance)}
    layers = {value.site.node for value in trained if isinstance(value, Applied) and _is_part(value)}
    found: tuple[Call, DType] | None = None
    told: Call | None = None
    for event in itertools.takewhile(lambda event: event is not made, calls):
        if full_name(event) == "torch.set_default_dtype":
            told = event
        is_own = isinstance(event.callee, ClassValue) and event.callee.cls in classes
        dtype = named_dtype(told.argument(0, "d")) if told is not None else None
        if (is_own or event.site.node in layers) and told is not None and dtype is not None:
            found = (told, dtype) if dtype in HALVES else found
        if event.name in {"float", "double"} and event.receiver is not None:
            found = None
    if found is not None and not any(map(_adapts, calls)):
        yield found


def _tree(value: Value) -> list[Value]:
    """A value and what it was made of."""
    found: list[Value] = []
    waiting = [(value, 0)]
    while waiting:
        current, depth = waiting.pop()
        found.append(current)
        if depth < DEEPEST and not isinstance(current, Instance):
            waiting.extend((one, depth + 1) for one in inputs(current))
    return found


def _with_built(loop: TrainingLoop, trained: list[Value]) -> list[Value]:
    """Values together with what the functions that build them give: `net = build(options)`."""
    built = [forced(loop.run, value) for value in trained if isinstance(value, Delayed)]
    return [*trained, *(inner for value in built if not isinstance(value, Delayed) for inner in _tree(value))]


def _parts(trained: list[Value], depth: int = 3) -> list[Value]:
    """The parts of the networks that are trained: `model.encoder`."""
    inside = [
        part
        for value in trained
        if isinstance(value, Instance)
        for part in value.attributes.values()
        if _is_part(part)
    ]
    return [*inside, *(_parts(inside, depth - 1) if depth and inside else ())]


def _is_network(loop: TrainingLoop, receiver: Value | None) -> bool:
    return any(networks(receiver)) or role_of(loop.run, receiver) is Role.MODEL


def _gives_parameters(receiver: Value | None, trained: list[Value]) -> bool:
    """Whether an object is asked for the parameters that train: `AdamW(unet.parameters())`."""
    asked = [one for one in trained if isinstance(one, Applied) and one.callee in PARAMETERS and one.args]
    return receiver is not None and any(one.args[0] is receiver for one in asked)


def _is_trained(receiver: Value | None, trained: list[Value]) -> bool:
    own: list[Value | None] = [*networks(receiver)] or [receiver]
    return any(one is value or _is_made_there(one, value) for one in own for value in trained)


def _is_made_there(one: Value | None, other: Value) -> bool:
    """Whether two values come from the same call, followed twice."""
    return isinstance(one, Applied) and isinstance(other, Applied) and one.site.node is other.site.node


def _is_undone(loop: TrainingLoop, cast: Call) -> bool:
    """Whether the network is cast back later, or frozen with nothing in it that trains in half."""
    events = loop.trace.events
    at = events.index(cast)
    frozen = None
    for place, event in enumerate(events):
        if isinstance(event, Assignment) and _freezes(event, cast):
            frozen = place
        if not isinstance(event, Call) or event.receiver is None:
            continue
        if place > at and _widens(event, loop) and same_object(event.receiver, cast.receiver):
            return True
        if event.name == "requires_grad_" and same_object(event.receiver, cast.receiver):
            frozen = place if _is_off(event.argument(0, "requires_grad")) else None
    return frozen is not None and not any(
        _thaws(event) or (frozen + after < at and _adds(event))
        for after, event in enumerate(events[frozen + 1 :], 1)
    )


def _is_off(flag: Value | None) -> bool:
    return isinstance(flag, Constant) and flag.value is False


def _thaws(event: Event) -> bool:
    """Whether an event lets parts of a frozen network train again: `model.head.requires_grad_(True)`."""
    if isinstance(event, Call):
        return event.name == "requires_grad_" and not _is_off(event.argument(0, "requires_grad"))
    if not isinstance(event, Assignment) or getattr(event.target, "attr", "") != "requires_grad":
        return False
    return isinstance(event.value, Constant) and event.value.value is True


def _adds(event: Event) -> bool:
    """Whether an event puts a new part into a network: what is cast afterwards is cast with it."""
    if isinstance(event, Call):
        return _adapts(event)
    return isinstance(event, Assignment) and isinstance(event.target, ast.Attribute) and _is_part(event.value)


def _is_part(value: Value) -> bool:
    return isinstance(value, Instance) or (
        isinstance(value, Applied) and value.callee.startswith("torch.nn.")
    )


def _adapts(event: Call) -> bool:
    written = f"{full_name(event)} {event.name}".lower()
    return any(word in written for word in ADAPTING)


def _is_adapted_after(loop: TrainingLoop, cast: Event, made: Call) -> bool:
    """Whether adapters are put into a half network later: they are made in float32, and they alone train."""
    events = loop.trace.events
    between = events[events.index(cast) : events.index(made)]
    return any(isinstance(event, Call) and _adapts(event) for event in between)


def _freezes(event: Assignment, cast: Call) -> bool:
    """`for p in teacher.parameters(): p.requires_grad = False`."""
    is_flag = isinstance(event.target, ast.Attribute) and event.target.attr == "requires_grad"
    if not is_flag:
        return False
    over = next((scope.value for scope in event.scopes() if scope.kind == "loop"), None)
    return over is not None and _is_trained(cast.receiver, _tree(over))


def _is_cast_back(loop: TrainingLoop, value: Value) -> bool:
    """Whether a network that was loaded in half is cast to float32 later, also behind `.to(device)`."""
    return any(
        event.receiver is not None and any(one is value for one in unwrapped(event.receiver))
        for event in loop.trace.events
        if isinstance(event, Call) and _widens(event, loop)
    )


def _widens(event: Call, loop: TrainingLoop) -> bool:
    """`net.float()`, `net.to(torch.float32)`."""
    return event.name in {"float", "double"} or may_stay_single(event, loop.run)


def _is_told_to_widen(loop: TrainingLoop) -> bool:
    """Whether an object is told a type that a property casts it to: `net.dtype = torch.float32`."""
    return any(
        isinstance(event, Assignment)
        and isinstance(event.target, ast.Attribute)
        and event.target.attr == "dtype"
        and named_dtype(event.value) is DType.FLOAT32
        for event in loop.trace.events
    )


def _keeps_copies(loop: TrainingLoop) -> bool:
    """Whether something in the walk keeps float32 copies, or trains adapters."""
    for event in loop.trace.events:
        if isinstance(event, Call):
            written = f"{full_name(event)} {event.name}".lower()
            if any(word in written for word in KEEPING):
                return True
            if any(
                word in key.lower() for key in event.keywords for word in ("master", "stochastic", "kahan")
            ):
                return True
    return any(isinstance(move.subject, Part) for move in loop.moves if move.by_engine and move.updates)
