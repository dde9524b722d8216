"""A layer is replaced after the optimizer was made, so the optimizer keeps updating the old one.

## What it checks
After an optimizer was given `model.parameters()`: an assignment of a layer with weights to an attribute or
item of that model (`model.fc = nn.Linear(...)`), another network put into its place (`self.net = Net()`),
`resize_token_embeddings`, `add_module`, adapters put in by `get_peft_model`, or wrapping the model in FSDP,
in the same function or in one that gets the model, where the optimizer goes on and neither a parameter
group nor another optimizer is added before it does. So is a network that is let learn again
(`p.requires_grad = True`) where the optimizer was given only what required a gradient before.

## Why it matters
An optimizer holds the tensors it was given. The layer that is used is not among them and stays at its
random start; the one that was thrown away is updated with no gradient. FSDP replaces all of them.

## When it is harmless
`model.to(device)`, `.cuda()` and `.half()` after the optimizer keep the same parameter objects in current
torch, and so do DistributedDataParallel and torch.compile. Layers without weights. A frozen layer, an
average or a teacher that is kept beside the model.

## References
- torch.optim: Constructing it
- torch.distributed.fsdp: the optimizer must be initialized after the module has been wrapped
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.statements import moved_whole, name_of_result
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.meeting_places import meeting_point, places_of
from stethoscope.program.loop.parameter_owners import (
    Holder,
    has_weights,
    holder_of,
    holders,
    is_inside,
    unwrapped,
)
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Choice, Constant, Instance, Part, Value
from stethoscope.run import Fix, Level, Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP115", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

REPLACING = frozenset(
    {"resize_token_embeddings", "add_module", "register_parameter", "register_module", "add_adapter"}
)
WRAPPING = ("FullyShardedDataParallel", "fully_shard", "get_peft_model")
KEEPING = frozenset({"compile", "script", "DataParallel", "DistributedDataParallel", "DDP"})
KEPT = frozenset(
    {"ema", "teacher", "target", "average", "avg", "swa", "frozen", "old", "best", "criterion", "loss"}
)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each change of a model that its optimizer does not see."""
    training = [loop for loop in loops if any(move.updates for move in loop.moves)]
    traces = dict.fromkeys(loop.trace for loop in training)
    made = [(trace, holder) for trace in traces for holder in holders(trace)]
    if not made:
        raise InsufficientData("no optimizer that is made in the source could be followed")
    told: set[Where] = set()
    for trace, holder in made:
        steps = _steps(trace, holder, training)
        for event, what in _changes(trace, holder):
            places = places_of(trace, event, holder.call)
            if places[0] in told or not _is_used_further(trace, holder, event, steps):
                continue
            told.add(places[0])
            yield Finding(
                where=places,
                message=f"{what} after {_short(holder.call)} was made: the optimizer keeps what was there",
                evidence={"optimizer": holder.call.site.text, "line of optimizer": holder.call.line},
                fix=_made_later(trace, holder, event),
            )


def _steps(trace: Trace, holder: Holder, loops: list[TrainingLoop]) -> list[int]:
    """The places in the walk at which this optimizer updates weights, or one that was not followed does."""
    places = {id(event): place for place, event in enumerate(trace.events)}
    found: list[int] = []
    for loop in loops:
        # A function that trains is one loop, however often it is called: its later rounds come after.
        for move in (*loop.moves, *loop.after) if loop.trace is trace else ():
            stepped = holder_of(trace, move.subject) if move.updates else (None,)
            if not stepped or holder in stepped:
                found.append(places[id(move.event)])
    return found


def _is_used_further(trace: Trace, holder: Holder, change: Event, steps: list[int]) -> bool:
    """Whether the optimizer goes on after a change, before another one takes over what it had."""
    place = trace.events.index(change)
    if any(isinstance(event, Call) and event.name == "add_param_group" for event in trace.events[place:]):
        return False
    heirs = [o.position for o in holders(trace) if o.position > place and _have_in_common(o, holder)]
    around = {id(scope) for scope in change.scopes() if scope.kind == "loop"}
    comes_again = not heirs and any(
        id(scope) in around for step in steps for scope in trace.events[step].scopes()
    )
    return comes_again or any(place < step < min(heirs, default=len(trace.events)) for step in steps)


def _have_in_common(one: Holder, other: Holder) -> bool:
    shared = any(owner is known for owner in one.owners for known in other.owners)
    return shared or bool(one.texts & other.texts)


def _changes(trace: Trace, holder: Holder) -> Iterator[tuple[Event, str]]:
    """What replaces parameters of the optimizer's networks later."""
    within = holder.call.within
    for event in trace.events[holder.position + 1 :]:
        if event.within and event.within[-1].name == "__init__" and event.within != within:
            continue  # layers are made where a walk first looks into their network
        is_here = event.within == within
        if isinstance(event, Assignment) and not event.operator:
            is_layer = _is_layer_of(holder, event.target) if is_here else False
            is_layer = is_layer or (_is_own(trace, holder, event.owner) and not _is_kept(event.target))
            is_new = not _only_wraps(event) and _is_new_layer(trace, event.value)
            is_new = is_new or _is_new_parameter(event)
            is_new = is_new or _is_new_behind_move(trace, holder, event.value)
            if _is_unfrozen_late(trace, holder, event):
                yield event, f"{ast.unparse(event.target)} becomes true"
            elif (is_layer and is_new) or _is_made_anew(trace, holder, event):
                yield event, f"{ast.unparse(event.target)} is replaced"
        elif isinstance(event, Call):
            what = _replaced(holder, event) if is_here else ""
            if _is_set_inside(trace, holder, event):
                what = "a layer of the network is replaced"
            if not what and event.name in REPLACING and _is_own(trace, holder, event.receiver):
                what = f"{event.name} changes the parameters"
            if not what and _is_wrapping(event) and _is_own(trace, holder, next(iter(event.args), None)):
                what = f"{_argument(event)} is wrapped"
            if not what and _is_unfrozen_late(trace, holder, event):
                what = f"{event.site.text} lets more parameters learn"
            if what:
                yield event, what


def _is_unfrozen_late(trace: Trace, holder: Holder, event: Event) -> bool:
    """Whether parameters are to learn that were frozen, and left out, when the optimizer was made."""
    switched = _switched(event)
    if switched is None or not switched[1] or not _leaves_out_frozen(trace, holder):
        return False
    frozen = [
        before[0]
        for one in trace.events[: holder.position]
        if (before := _switched(one)) is not None and not before[1] and _is_of(trace, holder, before[0])
    ]
    return bool(frozen) and _is_of(trace, holder, switched[0])


def _switched(event: Event) -> tuple[Value, bool] | None:
    """What an event lets learn, or keeps from it: `p.requires_grad = True`, `net.requires_grad_(False)`."""
    match event:
        case Assignment(
            target=ast.Attribute(attr="requires_grad"), owner=owner, value=Constant(value=bool() as to)
        ):
            return (owner, to) if owner is not None else None
        case Call(name="requires_grad_", receiver=receiver) if receiver is not None:
            given = event.argument(0, "requires_grad")
            if given is None or (isinstance(given, Constant) and isinstance(given.value, bool)):
                return receiver, given is None or bool(given.value)
    return None


def _is_of(trace: Trace, holder: Holder, value: Value) -> bool:
    """Whether a value is a network of an optimizer, or was found by going through one."""
    found_in = {id(value), *(id(one) for one in ancestry(trace.run, value))}
    return any(id(one) in found_in for owner in holder.owners for one in unwrapped(owner)) or _is_own(
        trace, holder, value
    )


def _leaves_out_frozen(trace: Trace, holder: Holder) -> bool:
    """Whether an optimizer was given what requires a gradient at that time, and nothing else."""
    params = holder.call.argument(0, "params")
    known = (
        [one.site.text for one in ancestry(trace.run, params) if isinstance(one, Applied)] if params else []
    )
    return any("requires_grad" in text for text in (holder.call.site.text, *known))


def _is_set_inside(trace: Trace, holder: Holder, call: Call) -> bool:
    """`setattr(module, name, Adapter(child))`, for a module that was found by going through the network."""
    if call.name != "setattr" or len(call.args) != 3 or not _is_new_layer(trace, call.args[2]):
        return False
    found_in = {id(one) for one in ancestry(trace.run, call.args[0])}
    return any(id(owner) in found_in for owner in holder.owners)


def _is_made_anew(trace: Trace, holder: Holder, event: Assignment) -> bool:
    """Whether a whole network takes the place of one that the optimizer has: `self.net = Net()`."""
    if not _is_new_layer(trace, event.value) or _is_kept(event.target):
        return False
    made_from = {id(one) for one in ancestry(trace.run, event.value)}
    if any(id(owner) in made_from for owner in holder.owners):
        return False  # wrapped, or moved
    return any(
        isinstance(other, Assignment) and _is_same_place(other, event) and _is_owner(holder, other.value)
        for other in trace.events[: holder.position]
    )


def _is_same_place(one: Assignment, other: Assignment) -> bool:
    """Whether two assignments write to one name of a function, or to one attribute of an object."""
    match one.target, other.target:
        case ast.Name(id=name), ast.Name(id=again):
            return name == again and one.within == other.within
        case ast.Attribute(attr=name), ast.Attribute(attr=again):
            return name == again and one.owner is not None and one.owner is other.owner
    return False


def _is_owner(holder: Holder, value: Value) -> bool:
    return any(one is owner for one in unwrapped(value) for owner in holder.owners)


def _is_own(trace: Trace, holder: Holder, value: Value | None) -> bool:
    """Whether an object is a network of the optimizer, or part of one."""
    known = [owner for owner in holder.owners if isinstance(owner, Instance | Applied)]
    options = unwrapped(value) if value is not None else ()
    return any(
        isinstance(one, Instance | Applied | Part) and is_inside(trace.run, one, owner)
        for one in options
        for owner in known
    )


def _is_kept(target: ast.expr) -> bool:
    return bool(KEPT.intersection(words(ast.unparse(target).replace(".", "_"))))


def _is_layer_of(holder: Holder, target: ast.expr) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
        if ast.unparse(target) in holder.texts:
            return True
    text = ast.unparse(target)
    if _is_kept(target):
        return False
    return isinstance(target, ast.Attribute) and any(text.startswith(f"{owner}.") for owner in holder.texts)


def _is_new_parameter(event: Assignment) -> bool:
    """`layer.weight = nn.Parameter(...)`: the tensor that the optimizer has is no longer used."""
    node = event.site.node
    is_made = isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] == "Parameter"
    return is_made and isinstance(event.target, ast.Attribute)


def _is_new_layer(trace: Trace, value: Value) -> bool:
    options = value.options if isinstance(value, Choice) else (value,)
    if any(isinstance(option, Applied) and option.callee == "copy.deepcopy" for option in options):
        return False
    return any(has_weights(trace.run, option) for option in options)


def _only_wraps(event: Assignment) -> bool:
    """`model.body = torch.compile(model.body)`: the parameters stay the objects that they are."""
    node = event.site.node
    if not isinstance(node, ast.Call) or not node.args:
        return False
    is_wrapping = (dotted(node.func) or "").rpartition(".")[2] in KEEPING
    return is_wrapping and ast.unparse(node.args[0]) == ast.unparse(event.target)


def _is_new_behind_move(trace: Trace, holder: Holder, value: Value) -> bool:
    """`nn.Linear(8, 7).to(device)`, made after the optimizer; `model.fc.to(device)` is what it has."""
    inside = [one for one in unwrapped(value) if one is not value and isinstance(one, Applied)]
    later = {id(event.site.node) for event in trace.events[holder.position + 1 :]} if inside else set()
    return any(id(one.site.node) in later and has_weights(trace.run, one) for one in inside)


def _replaced(holder: Holder, call: Call) -> str:
    node = call.site.node
    if not isinstance(node, ast.Call):
        return ""
    if call.name in REPLACING and isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value)
        inside = any(owner == text or owner.startswith(f"{text}.") for text in holder.texts)
        return f"{owner}.{call.name} changes the parameters" if inside else ""
    if _is_wrapping(call) and node.args:
        return f"{_argument(call)} is wrapped" if _argument(call) in holder.texts else ""
    return ""


def _is_wrapping(call: Call) -> bool:
    return call.name in WRAPPING or str(getattr(call.callee, "name", "")).endswith(WRAPPING)


def _argument(call: Call) -> str:
    node = call.site.node
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "the network"


def _short(call: Call) -> str:
    return call.name or "the optimizer"


def _made_later(trace: Trace, holder: Holder, change: Event) -> Fix | None:
    """The optimizer made right behind the change, where one block holds both and nothing between needs it."""
    site = holder.call.site
    led = meeting_point(trace, change, holder.call)
    if led.source is not site.source or not name_of_result(site.source, site.node):
        return None
    splices = moved_whole(site.source, site.node, led.node, after=True)
    title = "make the optimizer after the network is complete"
    return Fix(title, Level.SAFE, splices) if splices else None
