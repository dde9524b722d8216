"""Networks whose gradients are switched off in a round of training and never on again, though they learn.

for weight in critic.parameters():
    weight.requires_grad_(False)
loss = -critic(maker(noise)).mean()         and the optimizer of critic steps in the same loop
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.events import Assignment, Call, Event
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Applied, Constant, Instance, Part, Site, Value

DEPTH = 8
OPTIMIZERS = "torch.optim."


@dataclass(frozen=True, slots=True, eq=False)
class FrozenForGood:
    """Where a network is switched off, and where the optimizer that ought to train it steps."""

    frozen: Site
    stepped: Site


@dataclass(frozen=True, slots=True, eq=False)
class _Switch:
    event: Event
    network: Value
    is_on: bool | None  # None where it is not known which


@remembered
def frozen_for_good(index: Index, settings: SettingsTree) -> tuple[FrozenForGood, ...]:
    """The networks of each loop that are switched off for the sake of another and stay so."""
    if not any("requires_grad" in source.text for source in index.program):
        return ()
    found: dict[int, FrozenForGood] = {}
    for trace in traces(index, settings):
        for one in _in(trace):
            found.setdefault(id(one.frozen.node), one)
    return tuple(found.values())


def _in(trace: Trace) -> Iterator[FrozenForGood]:
    switches = [switch for event in trace.events if (switch := _switch(trace.run, event)) is not None]
    for off in switches:
        if off.is_on is not False or not _comes_by_in_rounds(off.event):
            continue
        if any(other.is_on is not False and other.network is off.network for other in switches):
            continue
        step = next((one for one in trace.events if _steps(trace.run, one, off)), None)
        if step is not None:
            yield FrozenForGood(off.event.site, step.site)


def _comes_by_in_rounds(event: Event) -> bool:
    """Whether an event is in a loop, with no condition around it."""
    kinds = [scope.kind for scope in event.scopes()]
    inside = kinds[: len(kinds) - kinds[::-1].index("loop")] if "loop" in kinds else ["if"]
    return "if" not in inside


def _switch(run: Execution, event: Event) -> _Switch | None:
    """`network.requires_grad_(False)`, or the same for each of its weights."""
    match event:
        case Call(name="requires_grad_", receiver=Value() as held):
            told = event.argument(0, "requires_grad") or Constant(True)
        case Assignment(target=ast.Attribute(attr="requires_grad"), owner=Value() as held, value=told):
            pass
        case _:
            return None
    network = _network(run, held)
    told = run.force(told)
    is_on = told.value if isinstance(told, Constant) and isinstance(told.value, bool) else None
    return _Switch(event, network, is_on) if network is not None else None


def _network(run: Execution, value: Value) -> Value | None:
    """The network that a value is, or is all weights of."""
    for _ in range(DEPTH):
        value = run.force(value)
        match value:
            case Instance():
                return value
            case Part(base=base, key="*" | 0 | 1):
                value = base
            case Applied() if (held := _whose_weights(value)) is not None:
                value = held
            case Applied(callee=".to" | ".cuda" | ".train" | ".eval" | "list", args=[inner, *_]):
                value = inner
            case Applied(callee=callee) if callee.rpartition(".")[2][:1].isupper():
                return value  # made of layers from outside
            case _:
                return None
    return None


def _whose_weights(value: Value) -> Value | None:
    """`network` of `network.parameters()`."""
    match value:
        case Applied(callee=".parameters" | ".named_parameters", args=[inner, *_]):
            return inner
        case Applied(callee="()", args=[Part(base=inner, key="parameters" | "named_parameters"), *_]):
            return inner
    return None


def _steps(run: Execution, event: Event, off: _Switch) -> bool:
    """Whether an event is the step of an optimizer that holds the network's weights, in a loop as well."""
    if not isinstance(event, Call) or event.name != "step" or event.receiver is None:
        return False
    optimizer = run.force(event.receiver)
    if (
        not isinstance(optimizer, Applied)
        or not optimizer.callee.startswith(OPTIMIZERS)
        or not optimizer.args
    ):
        return False
    held = run.force(optimizer.args[0])
    is_all = _whose_weights(held) is not None
    loops = {id(scope) for scope in off.event.scopes() if scope.kind == "loop"}
    together = any(id(scope) in loops for scope in event.scopes())
    return is_all and together and _network(run, held) is off.network
