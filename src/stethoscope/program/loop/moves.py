"""The moves of training: what each event of a walk does to weights, gradients, scale, schedule and modes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from stethoscope.program.index import Function, dotted
from stethoscope.program.loop.gradient_edits import changed_by
from stethoscope.program.loop.roles import Role, derived_role, role_by_name, role_of
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk import calls
from stethoscope.program.walk.events import Assignment, Call, Event, Jump
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Outside,
    Part,
    Table,
    Value,
)


class Kind(StrEnum):
    """What a move does."""

    ZERO_GRAD = "clears the gradients"
    FORWARD = "runs the network"
    BACKWARD = "computes gradients"
    UNSCALE = "unscales the gradients"
    CLIP = "clips the gradients"
    STEP = "updates the weights"
    SCALER_STEP = "updates the weights through the scaler"
    SCALER_UPDATE = "updates the scale"
    SCHEDULER_STEP = "moves the schedule"
    AVERAGE_UPDATE = "updates the average of the weights"
    TRAIN_MODE = "switches to training"
    EVAL_MODE = "switches to evaluation"
    SYNC = "waits for the device"
    LEAVE = "leaves"


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """One move and its event.

    `subject` is the optimizer, scheduler, scaler or network it acts on, or the loss of a backward pass.
    `scaled` marks a backward pass of a scaled loss. `by_engine` marks what accelerate, fabric, deepspeed
    or a scaler object of timm's kind does, which may hold several moves in one.
    """

    kind: Kind
    event: Event
    subject: Value | None = None
    scaled: bool = False
    by_engine: bool = False

    @property
    def updates(self) -> bool:
        """Whether the weights change."""
        return self.kind in {Kind.STEP, Kind.SCALER_STEP}


CLIPPING = frozenset(
    {"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_", "dispatch_clip_grad"}
    | {"clip_gradients", "clip_master_grads", "clip_grad_by_norm"}
)
EDITING = frozenset({"mul_", "div_", "copy_", "_foreach_mul_", "_foreach_div_"})
WAITING = frozenset({"item", "cpu", "numpy", "tolist"})
BACKWARD = frozenset({"backward", "manual_backward", "backward_pass"})


@lru_cache(maxsize=32)
def moves(run: Execution, events: tuple[Event, ...]) -> tuple[Move, ...]:
    """The moves among events, in order; asking twice costs once."""
    return tuple(move for event in _as_they_happen(run, events) for move in _moves(run, event))


def _as_they_happen(run: Execution, events: Sequence[Event]) -> Iterator[Event]:
    """`optimizer.step(closure)` calls its closure first and updates the weights then; so does what a class
    derived from an optimizer does in a `step` of its own."""
    waiting: list[tuple[Call, frozenset[Function]]] = []
    for event in events:
        while waiting and not waiting[-1][1].intersection(event.within):
            yield waiting.pop()[0]
        closures = _closures(run, event)
        if closures and isinstance(event, Call):
            waiting.append((event, closures))
        else:
            yield event
    while waiting:
        yield waiting.pop()[0]


def _closures(run: Execution, event: Event) -> frozenset[Function]:
    if not isinstance(event, Call) or event.name != "step":
        return frozenset()
    given = (*event.args, *event.keywords.values())
    found = {value.function for value in given if isinstance(value, FunctionValue)}
    if isinstance(event.receiver, Instance):
        own = run.index.method(event.receiver.cls, "step")
        if own is not None and derived_role(run.index, event.receiver.cls) is Role.OPTIMIZER:
            found.add(own)
    return frozenset(found)


def _moves(run: Execution, event: Event) -> Iterator[Move]:
    if isinstance(event, Jump):
        yield Move(Kind.LEAVE, event)
    elif isinstance(event, Assignment):
        if _clears_gradient(event):
            yield Move(Kind.ZERO_GRAD, event)
        else:
            yield from _by_hand(run, event)
    elif isinstance(event, Call):
        yield from _of_call(run, event)


def _clears_gradient(event: Assignment) -> bool:
    """`p.grad = None`, `p.grad = zeros_like(p)`, but not of those gradients only that are found to be bad."""
    is_grad = isinstance(event.target, ast.Attribute) and event.target.attr == "grad"
    if not is_grad or event.operator or (isinstance(event.value, Applied) and not _is_zeros(event.value)):
        return False
    return not _is_of_bad_gradients(event)


def _is_zeros(value: Applied) -> bool:
    return value.callee.rpartition(".")[2] in {"zeros", "zeros_like", "new_zeros"}


def _is_of_bad_gradients(event: Event) -> bool:
    inside = itertools.takewhile(lambda scope: scope.kind not in {"loop", "call"}, event.scopes())
    return any(scope.kind == "if" and _judges_gradient(scope.node) for scope in inside)


def _judges_gradient(test: ast.AST) -> bool:
    """`torch.isfinite(p.grad).all()`, and not `p.grad is not None`."""
    calls = (node for node in all_nodes(test, ast.Call))
    return any(
        isinstance(node, ast.Attribute) and node.attr == "grad" for call in calls for node in all_nodes(call)
    )


def _of_call(run: Execution, met: Call) -> Iterator[Move]:
    call = _as_method(met)
    name = call.name
    if _is_followed(run, call):
        return  # what the repository's own function does is met inside it
    role = receiver_role(run, call)
    if name in BACKWARD:
        yield _backward(run, call, role)
    elif name in {"zero_grad", "zero_grads"}:
        yield Move(Kind.ZERO_GRAD, call, call.receiver, by_engine=role is Role.ENGINE)
    elif name == "zero" and not call.args and _is_made(call.receiver):
        yield Move(Kind.ZERO_GRAD, call)  # a tape that gradients were recorded on
    elif name == "zero_" and _is_of_gradient(call) and not _is_of_bad_gradients(call):
        yield Move(Kind.ZERO_GRAD, call)
    elif name in CLIPPING:
        yield Move(Kind.CLIP, call, call.receiver, by_engine=role is Role.ENGINE)
    elif name == "unscale_" or name == "unscale_gradients":
        yield Move(Kind.UNSCALE, call, call.argument(0, "optimizer"), by_engine=role is Role.ENGINE)
    elif name == "step":
        yield from _step(call, role)
    elif name == "update" and role is Role.SCALER:
        yield Move(Kind.SCALER_UPDATE, call, call.receiver)
    elif name in {"update", "update_parameters", "ema_update", "update_ema"} and role is Role.AVERAGE:
        yield Move(Kind.AVERAGE_UPDATE, call, call.receiver)
    elif name in {"train", "eval"} and not _is_builtin(call):
        if _keeps_mode(call):
            return
        yield Move(Kind.EVAL_MODE if _evaluates(call) else Kind.TRAIN_MODE, met, call.receiver)
    elif name in WAITING and call.receiver is not None and not call.args:
        yield Move(Kind.SYNC, call, call.receiver)
    elif name == "synchronize" and full_name(call).startswith("torch."):
        yield Move(Kind.SYNC, call)
    elif name in {"float", "int", "bool"} and len(call.args) == 1 and _is_outside(call.callee):
        yield Move(Kind.SYNC, call, call.args[0])
    elif name in {"clamp_", "clip_"} and _is_of_gradient(call):
        yield Move(Kind.CLIP, call)
    elif name in EDITING:
        yield from _by_hand(run, call)
    elif role is Role.SCALER and _is_object(call) and call.args:
        yield from _scaler_object(call)
    elif is_forward(run, call):
        kept = run.stored_in(call.receiver, call.name) if call.receiver is not None else None
        yield Move(Kind.FORWARD, call, kept or call.receiver or call.callee)


def _by_hand(run: Execution, event: Call | Assignment) -> Iterator[Move]:
    """Gradients that are multiplied with a factor: made from their norm, or from the loss scale."""
    changed = changed_by(run, event)
    if changed:
        yield Move(Kind.CLIP if changed == "clip" else Kind.UNSCALE, event)


def _as_method(call: Call) -> Call:
    """`after = scheduler.step` and then `after()` is `scheduler.step()`."""
    callee = call.callee
    if isinstance(callee, Part) and callee.key in {
        "step",
        "zero_grad",
        "update",
        "unscale_",
        "train",
        "eval",
    }:
        return replace(call, name=str(callee.key), receiver=callee.base, callee=None)
    if isinstance(callee, Outside) and callee.name.rpartition(".")[2] in CLIPPING:
        return replace(call, name=callee.name.rpartition(".")[2])  # imported under another name
    return call


def receiver_role(run: Execution, call: Call) -> Role | None:
    """The part that the object of a call plays, by how it was made or by the name it has there."""
    subject = call.receiver if call.receiver is not None else call.callee
    role = role_of(run, subject)
    if role is not None:
        return role
    if isinstance(subject, Outside) and subject.name.startswith("torch."):
        return None  # a module of torch: `torch.optim.swa_utils` averages nothing by itself
    node = call.site.node
    written = node.func if isinstance(node, ast.Call) else None
    if call.receiver is not None and isinstance(written, ast.Attribute):
        written = written.value
    while isinstance(written, ast.Subscript):
        written = written.value
    name = (dotted(written) or "").rpartition(".")[2] if written is not None else ""
    return role_by_name(name) if name not in {"", "self"} else None


def full_name(call: Call) -> str:
    """The full dotted name of an outside function, "" for anything else."""
    if isinstance(call.receiver, Outside):
        return f"{call.receiver.name}.{call.name}"
    return call.callee.name if isinstance(call.callee, Outside) else ""


def is_forward(run: Execution, call: Call) -> bool:
    """Whether a call runs a network or an average of one."""
    if call.receiver is not None and call.name != "forward":
        found = call.receiver
        known = found.attributes.get(call.name) if isinstance(found, Instance) else None
        attribute = known if known is not None else run.stored_in(found, call.name)
        if attribute is not None:
            return _is_network(run, attribute, call.name)
        named = role_by_name(call.name) is Role.MODEL
        if call.name in {"module", "_orig_mod"}:  # the network behind a wrapper: `model.module(x)`
            return _is_network(run, found, "")
        return named and isinstance(found, Instance | Part)
    if call.callee is not None and not isinstance(call.callee, FunctionValue | Outside | ClassValue):
        return _is_network(run, call.callee, call.name)
    return call.name == "forward"


def _is_network(run: Execution, value: Value, name: str) -> bool:
    """Whether a value that is called is a network or runs one, by how it was made, else by its name."""
    return (role_of(run, value) or role_by_name(name)) in {Role.MODEL, Role.AVERAGE, Role.ENGINE}


def same_object(one: Value | None, other: Value | None) -> bool:
    """Whether two values may be the same object."""
    if one is None or other is None:
        return True
    return bool(_identities(one) & _identities(other))


def _identities(value: Value) -> set[int]:
    if isinstance(value, Choice):
        return {identity for option in value.options for identity in _identities(option)}
    if isinstance(value, Items):
        return {id(value)} | {identity for item in value.items for identity in _identities(item)}
    if isinstance(value, Table):
        return {id(value)} | {identity for item in value.entries.values() for identity in _identities(item)}
    return {id(value)}


def _is_followed(run: Execution, call: Call) -> bool:
    """Whether a call leads into a function of the repository that the walk follows."""
    if call.receiver is not None:
        values = call.receiver.options if isinstance(call.receiver, Choice) else (call.receiver,)
        return any(isinstance(value, Instance) and _is_own(run, value, call.name) for value in values)
    callee = call.callee
    if isinstance(callee, Instance):
        return run.index.method(callee.cls, "__call__") is not None
    return isinstance(callee, FunctionValue)


def _is_own(run: Execution, instance: Instance, name: str) -> bool:
    """Whether an object answers with a method of the repository that is no optimizer's or average's."""
    if run.index.method(instance.cls, name) is None or derived_role(run.index, instance.cls) is not None:
        return False
    return role_of(run, instance) is not Role.AVERAGE


def _backward(run: Execution, call: Call, role: Role | None) -> Move:
    receiver = call.receiver
    handed = bool(call.args) and (role is Role.ENGINE or call.name != "backward" or _is_made(receiver))
    loss = call.args[0] if handed else receiver
    options = loss.options if isinstance(loss, Choice) else (loss,)
    scaled = any(isinstance(option, Applied) and option.callee == ".scale" for option in options)
    by_engine = role is Role.ENGINE or call.name != "backward"
    return Move(Kind.BACKWARD, call, calls.unscaled(loss) if loss is not None else None, scaled, by_engine)


def _is_made(value: Value | None) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2][:1].isupper()


def _step(call: Call, role: Role | None) -> Iterator[Move]:
    if role is Role.SCALER and call.args:
        yield Move(Kind.SCALER_STEP, call, call.args[0])
    elif role is Role.SCHEDULER and len(call.args) < 2:
        yield Move(Kind.SCHEDULER_STEP, call, call.receiver)
    elif role is Role.OPTIMIZER or (role is Role.ENGINE and not call.args):
        yield Move(Kind.STEP, call, call.receiver, by_engine=role is Role.ENGINE)


def _scaler_object(call: Call) -> Iterator[Move]:
    """`loss_scaler(loss, optimizer, ...)`: backward, unscale, clip, step and update in one."""
    loss = call.args[0]
    optimizer = call.args[1] if len(call.args) > 1 else call.keywords.get("optimizer")
    yield Move(Kind.BACKWARD, call, loss, scaled=True, by_engine=True)
    yield Move(Kind.UNSCALE, call, optimizer, by_engine=True)
    yield Move(Kind.CLIP, call, optimizer, by_engine=True)
    yield Move(Kind.SCALER_STEP, call, optimizer, by_engine=True)
    yield Move(Kind.SCALER_UPDATE, call, by_engine=True)


def _is_object(call: Call) -> bool:
    """Whether an object is called, and none is made."""
    return call.receiver is None and not isinstance(call.callee, ClassValue | Outside | None)


def _is_outside(value: Value | None) -> bool:
    return isinstance(value, Outside)


def _is_of_gradient(call: Call) -> bool:
    """`p.grad.clamp_(...)`, `p.grad.data.zero_()`: a clip or a clearing by hand."""
    node = call.site.node
    written = (
        dotted(node.func.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    return written is not None and "grad" in written.split(".")


def _is_builtin(call: Call) -> bool:
    return call.receiver is None


def _keeps_mode(call: Call) -> bool:
    """`net.train(net.training)` asks the network for the mode it is in, and leaves it there."""
    node = call.site.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return False
    given = node.args[0]
    is_all = isinstance(given, ast.BoolOp) and isinstance(given.op, ast.And)
    asked = given.values if isinstance(given, ast.BoolOp) and is_all else [given]
    own = f"{ast.unparse(node.func.value)}.training"
    return any(ast.unparse(one) == own for one in asked)


def _evaluates(call: Call) -> bool:
    if call.name == "eval":
        return True
    mode = call.argument(0, "mode")
    return isinstance(mode, Constant) and mode.value is False
