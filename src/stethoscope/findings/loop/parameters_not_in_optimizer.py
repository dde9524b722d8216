"""A network that the loss is computed with is given to no optimizer.

## What it checks
Every network with weights that a loss goes back through, against what the optimizers of the program were
given (`model.parameters()`, lists, groups, chains, filters, `add_param_group`). One that is in none of
them, while others are, is reported; so is a part of a network that gets what another part of it gives, where
an optimizer has that other part alone. Two optimizers with the parameters of one network, and none with the
other's, is the same. So is one half of a division by shape or name (`[p for p in net.parameters() if
p.ndim > 1]`) whose other half nothing gives to the optimizer, and a function that makes groups of parameters,
followed with a small network, that puts all those of one kind into none.

## Why it matters
Its weights get gradients and stay at their random start: a head, a loss with centres or weights of its own,
a second encoder. The rest learns around it, so the loss falls, only never as far as it should.

## When it is harmless
Networks that are frozen (`requires_grad_(False)`, `eval()`, under `no_grad`), teachers, averages,
pretrained feature extractors and perceptual losses. What is part of a network that an optimizer has. A
half copy that the loop fills from the network that is updated. Where
an optimizer's parameters, or what is done to the network, could not be followed, nothing is said.

## References
- torch.optim.Optimizer.add_param_group
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.known_names import name_at
from stethoscope.program.edits.optimizer_edits import given_too, owner_of_parts, registered
from stethoscope.program.evaluation.evaluations import Walk
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.configured_optimizers import configured_optimizers
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.hand_moved_weights import moved_by_hand
from stethoscope.program.loop.left_out_beside import left_out_beside
from stethoscope.program.loop.left_out_parts import left_out_behind
from stethoscope.program.loop.left_over_parameters import left_over_parameters
from stethoscope.program.loop.loop_holders import known_holders, losses_of
from stethoscope.program.loop.parameter_owners import (
    Holder,
    has_weights,
    is_inside,
    name_of,
    networks_in,
    owners_of,
    unwrapped,
)
from stethoscope.program.loop.partial_groups import partial_groups
from stethoscope.program.loop.said_of_parts import is_said_of
from stethoscope.program.loop.training_arms import runs_only_in_evaluation
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.loop.unregistered_layers import Unregistered, unregistered_layers
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import cuts_gradient, quietly
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.graphs import met_passes
from stethoscope.program.walk.values import Applied, Delayed, Instance, Outside, Value
from stethoscope.run import Fix, Level
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP114", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

# Networks that are there to be used as they are, by what people call them.
KEPT = frozenset(
    {
        *("teacher", "ema", "frozen", "pretrained", "vgg", "lpips", "clip", "vae", "perceptual", "target"),
        *("reference", "ref", "extractor", "inception", "dino", "arcface", "fixed", "momentum", "sobel"),
        *("gaussian", "blur", "kernel", "filter", "ssim", "dct", "stft", "mel", "resize", "degradation"),
    }
)
# Parts that stay as they are beside what is trained, such as adapters.
BESIDE = frozenset({"base", "backbone", "original", "prior", "body", "trunk", "stem", "features"})
FREEZING = re.compile(r"requires_grad|no_grad|pretrained|\.eval\(\)|inference_mode")


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each network that learns nothing while the others do."""
    examined = False
    for group in partial_groups(loops.loops[0].run.index) if loops.loops else ():
        examined = True
        yield Finding(
            where=group.site.where,
            message=f"the optimizer gets the parameters with {group.question}, and never the others",
            evidence={"chosen": group.site.text},
            proof="no other place in the source takes parameters out of a network for an optimizer",
        )
    for left in left_over_parameters(loops.loops[0].run.index) if loops.loops else ():
        examined = True
        which = f"with {left.dimensions} dimensions" if left.dimensions is not None else "called bias"
        yield Finding(
            where=left.site.where,
            message=f"the groups that {left.function} makes hold no parameters {which}: nothing trains them",
            evidence={"left out": ", ".join(left.names)},
            proof="the function was followed with a small network that has parameters of every kind",
        )
    for loop in loops:
        configured = () if loop.hook is None or loop.trace.by_hand else configured_optimizers(loop.trace)
        if configured:
            examined = True
            yield from _left_out_of_module(loop, configured)
            continue
        held = known_holders(loop)
        if not held:
            continue
        examined = True
        yield from _untrained(loop, held)
    if not examined:
        raise InsufficientData("what the optimizers were given could not be followed")


def _untrained(loop: TrainingLoop, held: list[Holder]) -> Iterator[Finding]:
    told: list[Value] = []
    added = [
        event for event in loop.trace.events if isinstance(event, Call) and event.name == "add_param_group"
    ]
    extra = [owner for event in added for owner in owners_of(loop.run, event.argument(0, "param_group"))[0]]
    for loss in losses_of(loop):
        met = [module for module, _ in networks_in(loop.run, loss, cuts_gradient)]
        for module in met:
            if any(module is one for one in told) or not has_weights(loop.run, module):
                continue
            told.append(module)
            if any(one.holds(loop.run, module) for one in held):
                yield from _unregistered(held, loop, module)
                continue
            if any(is_inside(loop.run, module, owner) for owner in extra):
                continue
            if any(is_inside(loop.run, owner, module) for one in held for owner in one.owners):
                yield from _left_out(loop, held, module, extra)
                continue
            if _is_kept(loop, module) or _is_handed_on(loop, module) or _is_idle(loop, met, module):
                continue
            if moved_by_hand(loop, module):
                continue
            used = _place(loop, module)
            if used is None or without_gradients(used) or _is_for_evaluation(used):
                continue
            if _is_filled(used, held):
                continue
            first = held[0].call
            yield Finding(
                where=(used.site.where, first.site.where),
                message=f"the loss goes through {name_of(module)} ({used.site.text}), and no optimizer has "
                "its parameters",
                evidence={"network": name_of(module), "optimizer": first.site.text},
                fix=_given(held, _named(loop, module, first)),
            )


def _is_for_evaluation(used: Call) -> bool:
    """Whether the network that calls a part of it does so outside of training only."""
    caller = used.receiver
    return isinstance(caller, Instance) and runs_only_in_evaluation(caller.cls.node, used.name)


def _is_filled(used: Call, held: Sequence[Holder]) -> bool:
    """Whether the weights come from one that learns: `self.old.load_state_dict(self.net.state_dict())`."""
    node = used.site.node
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    learning = {f"{text}.state_dict" for one in held for text in one.texts} - {f"{name}.state_dict"}
    for one in all_nodes(used.site.source.tree, ast.Call):
        match one:
            case ast.Call(func=filled, args=[ast.Call(func=read), *_]):
                if dotted(filled) == f"{name}.load_state_dict" and dotted(read) in learning:
                    return True
    return False


def _is_idle(loop: TrainingLoop, networks: Sequence[Value], module: Value) -> bool:
    """Whether a network is a part of another one that leaves it alone while it trains."""
    return any(
        _is_same(loop, part, module) and runs_only_in_evaluation(network.cls.node, name)
        for network in networks
        if isinstance(network, Instance)
        for name, part in network.attributes.items()
    )


def _unregistered(held: list[Holder], loop: TrainingLoop, module: Value) -> Iterator[Finding]:
    """Layers in a plain list, which `parameters()` does not give."""
    for found in unregistered_layers(loop.run, module):
        if any(any(owner is layer for layer in found.layers) for one in held for owner in one.owners):
            continue
        if KEPT.intersection(words(found.name)):
            continue
        first = held[0].call
        yield Finding(
            where=(found.made, found.used, first.site.where),
            message=f"{name_of(module)} keeps layers in {found.name}, where parameters() does not see them: "
            "no optimizer has them",
            evidence={"network": name_of(module), "part": found.name, "optimizer": first.site.text},
            proof="a module registers layers that are attributes of it, and none inside a list or dictionary",
            fix=_registered(loop, module, found),
        )


def _left_out(loop: TrainingLoop, held: list[Holder], module: Value, extra: list[Value]) -> Iterator[Finding]:
    """The parts of a network that learn behind the one part that an optimizer has."""

    def is_held(part: Value) -> bool:
        owners = [owner for one in held for owner in one.owners]
        by_part = any(is_inside(loop.run, owner, part) for owner in owners)
        return by_part or any(one.holds(loop.run, part) for one in held)

    if not isinstance(module, Instance) or extra or _is_set_aside(loop, module):
        return
    forward = loop.run.index.method(module.cls, "forward")
    classes = [one.node for one in loop.run.index.lineage(module.cls)]
    behind = left_out_behind(loop.run, module, is_held)
    found = [one for one in behind if not any(is_said_of(node, FREEZING, one[0]) for node in classes)]
    if _says_so_itself(loop, module):
        forward = None  # it freezes something: of its parts, only what runs on a trained one was forgotten
    # Who steps the optimizers of a module by hand trains its parts, and no head on what was there before.
    by_hand = loop.trace.by_hand and module is loop.trace.module
    beside = left_out_beside(loop.run, module, forward, is_held, by_hand) if forward is not None else ()
    found.extend(one for one in beside if one[0] not in {name for name, _, _ in found})
    for name, part, where in found:
        if _is_kept(loop, part) or BESIDE.union(KEPT).intersection(words(name)):
            continue
        if by_hand and _is_loaded(loop, name):
            continue
        first = held[0].call
        yield Finding(
            where=(first.site.where, where),
            message=f"{first.name} has other parts of {name_of(module)}, and not {name}, which the loss goes "
            "through as well",
            evidence={"network": name_of(module), "part": name, "optimizer": first.site.text},
            fix=_part_given(held, module, name),
        )


def _is_loaded(loop: TrainingLoop, name: str) -> bool:
    """Whether a line of the program loads something into a part, whose weights may be meant to stay."""
    texts = (module.source.text for module in loop.run.index.modules.values())
    return any(
        name in line and "load" in line for text in texts if "load" in text for line in text.splitlines()
    )


def _left_out_of_module(loop: TrainingLoop, held: tuple[Holder, ...]) -> Iterator[Finding]:
    """The parts of a LightningModule that its step runs and `configure_optimizers` leaves out."""
    module, hook = loop.trace.module, loop.hook
    owners = [owner for one in held for owner in one.owners]
    if module is None or hook is None or any(owner is module for owner in owners):
        return

    def is_held(part: Value) -> bool:
        return any(is_inside(loop.run, owner, part) or is_inside(loop.run, part, owner) for owner in owners)

    for name, part, where in left_out_beside(loop.run, module, hook, is_held):
        if _is_kept(loop, part) or BESIDE.union(KEPT).intersection(words(name)):
            continue
        if any(is_said_of(one.node, FREEZING, name) for one in loop.run.index.lineage(module.cls)):
            continue
        first = held[0].call
        yield Finding(
            where=(first.site.where, where),
            message=f"configure_optimizers gives other parts of {name_of(module)} to {first.name}, and not "
            f"{name}, which the loss goes through as well",
            evidence={"network": name_of(module), "part": name, "optimizer": first.site.text},
            fix=_part_given(held, module, name),
        )


def _place(loop: TrainingLoop, module: Value) -> Call | None:
    """Where the network is run in the loop: for a loss rather than without gradients, where it is both."""
    runs = [
        event
        for event in loop.events
        if isinstance(event, Call) and any(_is_same(loop, called, module) for called in _called(event))
    ]
    if runs:
        return next((run for run in runs if not without_gradients(run)), runs[0])
    inside = {id(event) for event in loop.events}
    for loss in losses_of(loop):
        for given, calls in met_passes(loop.trace, loss):
            ran = [one for one, _ in networks_in(loop.run, given, lambda _: True)]
            here = [call for call in calls if id(call) in inside]
            if here and any(one is module for one in ran):
                return here[0]
    return None


def _called(call: Call) -> Iterator[Value]:
    """The object that is called: `network(x)`, `self.network(x)`."""
    if call.callee is not None:
        yield call.callee
    if isinstance(call.receiver, Instance) and call.name in call.receiver.attributes:
        yield call.receiver.attributes[call.name]


def _is_same(loop: TrainingLoop, value: Value, module: Value) -> bool:
    """Whether a value is the network, also behind `.to(device)` or as what a factory gave."""
    for one in unwrapped(value):
        made = unwrapped(quietly(loop.run, one)) if isinstance(one, Delayed) else (one,)
        if any(option is module for option in made):
            return True
    return False


def _is_kept(loop: TrainingLoop, module: Value) -> bool:
    """Whether a network is there to be used as it is."""
    return _is_set_aside(loop, module) or _says_so_itself(loop, module)


def _says_so_itself(loop: TrainingLoop, module: Value) -> bool:
    """Whether the class of a network freezes something."""
    return isinstance(module, Instance) and any(
        is_said_of(one.node, FREEZING) for one in loop.run.index.lineage(module.cls)
    )


def _is_set_aside(loop: TrainingLoop, module: Value) -> bool:
    """Whether the program freezes a network, or calls it what is used as it is."""
    names = {name_of(module)}
    trains = any(_is_asked(loop, event, module, "train") for event in loop.trace.events)
    first = loop.events[0] if loop.events else None
    before = loop.trace.events[: loop.trace.events.index(first)] if first is not None else ()
    if any(_is_asked(loop, event, module, "eval") for event in before) and not trains:
        return True
    for event in loop.trace.events:
        if _is_asked(loop, event, module, "requires_grad_"):
            return True
        if _freezes(loop, event, module):
            return True
        if isinstance(event, Assignment) and _is_same(loop, event.value, module):
            names.add(ast.unparse(event.target).rpartition(".")[2])
    return bool(KEPT.intersection(word for name in names for word in words(name)))


def _is_asked(loop: TrainingLoop, event: Event, module: Value, name: str) -> bool:
    """`network.eval()`, also behind `.to(device)`."""
    if not isinstance(event, Call) or event.name != name or event.receiver is None:
        return False
    return _is_same(loop, event.receiver, module)


def _freezes(loop: TrainingLoop, event: Event, module: Value) -> bool:
    """`for p in network.parameters(): p.requires_grad = False`."""
    if not isinstance(event, Assignment) or not isinstance(event.target, ast.Attribute):
        return False
    if event.target.attr != "requires_grad":
        return False
    around = [scope.value for scope in event.scopes() if scope.kind == "loop" and scope.value is not None]
    return any(_is_asked_of(loop, value, module) for value in around)


def _is_asked_of(loop: TrainingLoop, value: Value, module: Value) -> bool:
    """Whether a value was asked of a network: `network.parameters()`."""
    if _is_same(loop, value, module):
        return True
    parts: tuple[Value, ...] = value.args if isinstance(value, Applied) else ()
    base = getattr(value, "base", None)
    return any(_is_asked_of(loop, part, module) for part in (*parts, *([base] if base is not None else [])))


def _is_handed_on(loop: TrainingLoop, module: Value) -> bool:
    """Whether something that cannot be followed gets the network, and might train it."""
    for event in loop.trace.events:
        if not isinstance(event, Call) or event.callee is module:
            continue
        given = (*event.args, *event.keywords.values())
        if not any(_is_same(loop, one, module) for one in given):
            continue
        outside = event.callee if isinstance(event.callee, Outside) else event.receiver
        if isinstance(outside, Outside) and not outside.name.startswith(
            ("torch", "print", "sum", "len", "copy")
        ):
            return True
    return False


def _named(loop: TrainingLoop, module: Value, made: Call) -> str:
    """What a network is called where an optimizer is made, also behind `.to(device)`."""
    walk = Walk(loop.trace, loop.moves)
    kept = [event.value for event in loop.trace.events if isinstance(event, Assignment)]
    same = [module, *(value for value in kept if _is_same(loop, value, module))]
    return next((name for value in same if (name := name_at(walk, value, made))), "")


def _given(held: Sequence[Holder], network: str) -> Fix | None:
    """The network given to the optimizer too, where it has a name there and there is no other one."""
    splice = given_too(held[0].call.site, network) if network and len(held) == 1 else None
    return (
        Fix(f"give {network} to the optimizer too", Level.UNSAFE, (splice,)) if splice is not None else None
    )


def _part_given(held: Sequence[Holder], module: Instance, part: str) -> Fix | None:
    owner = owner_of_parts(held[0].call.site, module)
    return _given(held, f"{owner}.{part}") if owner and part in module.attributes else None


def _registered(loop: TrainingLoop, module: Value, found: Unregistered) -> Fix | None:
    if not isinstance(module, Instance) or found.made.file != module.cls.source.file:
        return None
    splice = registered(loop.run.index, module, found.name, found.made.line)
    return Fix("keep the layers in a module", Level.SAFE, (splice,)) if splice is not None else None
