"""Which networks' parameters each optimizer of a walk was given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from stethoscope.program.loop.moves import full_name
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.calls import UNKNOWN_NAME
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.given_back import UNCHANGED
from stethoscope.program.walk.learning_classes import LEARNING_LAYERS, has_parameters
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Outside,
    Part,
    PartialValue,
    Table,
    Value,
)

GIVING = frozenset({"parameters", "named_parameters", "trainable_parameters", "get_trainable_parameters"})
PARAMETERS = frozenset({"Parameter", "tensor", "zeros", "ones", "randn", "rand", "empty", "full", "eye"})
PLAIN_TENSORS = PARAMETERS - {"Parameter"} | {
    *("requires_grad_", "detach", "clone", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like"),
}
COMPUTED = frozenset({"-", "*", "/", "**", "@"})  # not "+", which joins two lists of parameters
DEPTH = 5  # objects inside objects that are looked through


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """An optimizer as it was made: the call, its place in the walk, and the networks it was given.

    `is_known` is false where part of what it was given could not be followed.
    """

    call: Call
    position: int
    owners: tuple[Value, ...]
    is_known: bool

    def holds(self, run: Execution, module: Value) -> bool:
        """Whether the optimizer has the parameters of a network, or of what it is part of."""
        return any(owner is module or is_inside(run, module, owner) for owner in self.owners)

    @property
    def texts(self) -> frozenset[str]:
        """The networks as they are written in the call: `model` of `model.parameters()`."""
        return frozenset(
            ast.unparse(node.func.value)
            for node in all_nodes(self.call.site.node, ast.Call)
            if isinstance(node.func, ast.Attribute) and node.func.attr in GIVING
        )


@remembered
def holders(trace: Trace) -> tuple[Holder, ...]:
    """Every optimizer that a walk makes, in order."""
    found: list[Holder] = []
    for position, event in enumerate(trace.events):
        if isinstance(event, Call) and is_optimizer_made(event):
            owners, is_known = owners_of(trace.run, event.argument(0, "params"))
            found.append(Holder(event, position, owners, is_known and event.arguments_known))
    return tuple(found)


def is_optimizer_made(call: Call) -> bool:
    """Whether a call makes one of torch's optimizers, or one of their kind, whichever it is."""
    if not call.args and not call.keywords:
        return False
    called = Outside(full_name(call)) if full_name(call) else call.callee
    options = called.options if isinstance(called, Choice) else (called,)
    return all(_makes_optimizer(option) for option in options)


def _makes_optimizer(called: Value | None) -> bool:
    if isinstance(called, PartialValue):
        return not called.args and _makes_optimizer(called.callee)
    if isinstance(called, ClassValue):
        return any(base.rpartition(".")[2] in OPTIMIZER_CLASSES for base in called.cls.bases)
    if not isinstance(called, Outside):
        return False
    home, _, last = called.name.rpartition(".")
    if last == UNKNOWN_NAME:  # getattr(torch.optim, name)
        return home.endswith("optim")
    return last in OPTIMIZER_CLASSES and last != "Optimizer"


def holder_of(trace: Trace, optimizer: Value | None) -> tuple[Holder, ...]:
    """What an optimizer may be, among those that the walk made; nothing where it may be another one."""
    optimizer = quietly(trace.run, optimizer) if optimizer is not None else None
    options = optimizer.options if isinstance(optimizer, Choice) else (optimizer,)
    found: list[Holder] = []
    for option in options:
        if isinstance(option, Constant) and option.value is None:
            continue
        node = option.site.node if isinstance(option, Applied) else None
        made = [holder for holder in holders(trace) if holder.call.site.node is node]
        if not made:
            return ()
        found.extend(made)
    return tuple(found)


def owners_of(run: Execution, params: Value | None) -> tuple[tuple[Value, ...], bool]:
    """The networks whose parameters a value holds, and whether that is all there is to it."""
    owners: list[Value] = []
    is_known = params is not None
    waiting = [params] if params is not None else []
    seen: set[int] = set()
    while waiting:
        value = quietly(run, waiting.pop())
        if id(value) in seen:
            continue
        seen.add(id(value))
        owner = _owner(value)
        if owner is not None:
            owners.extend(made for one in unwrapped(owner) for made in unwrapped(quietly(run, one)))
            continue
        match value:
            case Items(items=items):
                waiting.extend(items)
            case Table(entries=entries, rest=rest):
                waiting.extend([entries["params"]] if "params" in entries else [*entries.values(), *rest])
            case Choice(options=options):
                waiting.extend(options)
            case Part(base=base, key="*" | int()):
                waiting.append(base)
            case Applied(callee=callee) if (
                callee.startswith("torch.") and callee.rpartition(".")[2] in PARAMETERS
            ):
                owners.append(value)  # a parameter of its own: `[model.logit_scale]`
            case Applied(callee=callee) if callee in COMPUTED:
                owners.append(value)  # `nn.Parameter(torch.ones(1) / start)`: what made it is not learned
            case Applied(callee=callee, args=args) if not callee.startswith("torch.nn."):
                passed = [a for a in args if not isinstance(a, LambdaValue | FunctionValue | Constant)]
                waiting.extend(passed)
                is_known = is_known and bool(passed)
            case Constant():
                pass
            case _:
                is_known = False
                owners.append(value)
    return tuple(owners), is_known


def is_of_plain_tensors(holder: Holder) -> bool:
    """Whether an optimizer moves tensors that belong to no network: a code, an input, a mask."""
    given = holder.call.argument(0, "params")
    several = given.options if isinstance(given, Choice) else (given,)
    options = [one for one in several if not (isinstance(one, Constant) and one.value is None)]
    rows = [one.items for one in options if isinstance(one, Items)]
    return bool(rows) and len(rows) == len(options) and all(map(_is_plain_tensor, chain(*rows)))


def _is_plain_tensor(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in PLAIN_TENSORS


def network_given(run: Execution, params: Value | None) -> tuple[Value, ...] | None:
    """The network whose parameters a value is, every one of them; None where it may be a part or others."""
    value = quietly(run, params) if params is not None else None
    while isinstance(value, Applied) and value.callee in {"list", "tuple"} and len(value.args) == 1:
        value = quietly(run, value.args[0])
    owner = _owner(value) if value is not None else None
    return tuple(made for one in unwrapped(owner) for made in unwrapped(quietly(run, one))) if owner else None


def _owner(value: Value) -> Value | None:
    """The network of `network.parameters()`."""
    if not isinstance(value, Applied) or not value.args:
        return None
    if value.callee.startswith(".") and value.callee[1:] in GIVING:
        return value.args[0]
    called = value.args[0]
    if value.callee == "()" and isinstance(called, Part) and called.key in GIVING:
        return called.base
    return None


def unwrapped(value: Value) -> Iterator[Value]:
    """The network behind `.to(device)`, `.module` and the like."""
    while True:
        if isinstance(value, Applied) and value.callee[1:] in UNCHANGED and value.args:
            value = value.args[0]
        elif isinstance(value, Part) and value.key in {"module", "_orig_mod"}:
            value = value.base
        else:
            break
    yield from value.options if isinstance(value, Choice) else (value,)


def is_inside(run: Execution, part: Value, whole: Value, depth: int = DEPTH) -> bool:
    """Whether an object is part of another: an attribute, an element, a layer of a sequence."""
    while True:
        if _is_within(run, part, whole, depth):
            return True
        if not isinstance(part, Part) or depth == 0:
            return False
        part, depth = part.base, depth - 1  # an attribute that is not known, of something that is inside


def _is_within(run: Execution, part: Value, whole: Value, depth: int) -> bool:
    """The same of what is known, looked through from the outside in, each object once."""
    level: list[Value] = [whole]
    met = {id(whole): whole}
    for _ in range(depth):
        if id(part) in met:
            return True
        inner = {id(value): value for one in level for value in parts_of(run, one)}
        level = [value for key, value in inner.items() if key not in met]
        met |= inner
    return id(part) in met


def parts_of(run: Execution, whole: Value) -> Iterable[Value]:
    """What an object has as attributes, elements or layers."""
    match whole:
        case Instance(attributes=attributes):
            _initialised(run, whole)
            return tuple(attributes.values())
        case Items(items=items):
            return items
        case Table(entries=entries, rest=rest):
            return (*entries.values(), *rest)
        case Choice(options=options):
            return options
        case Delayed(args=args):  # what a factory makes, and what it is given
            made = quietly(run, whole)
            return args if made is whole else (made, *args)
        case Applied(args=args):
            return args
    return ()


def _initialised(run: Execution, instance: Instance) -> None:
    events, scope, steps = len(run.events), run.scope, run.steps
    run.steps = max(steps, 3_000)
    try:
        run.initialise(instance)
    except Exception:  # what could not be followed has no attributes to look at
        pass
    finally:
        del run.events[events:]
        run.scope, run.steps = scope, steps


def networks_in(
    run: Execution, loss: Value | None, stops: Callable[[Value], bool] | None
) -> Iterator[tuple[Value, Value]]:
    """The networks of known making that a loss went through, each with the value it gave."""
    for value in ancestry(run, loss, stops):
        match value:
            case Delayed(callee=FunctionValue(bound=Instance() as module)):
                yield module, value
            case Applied(maker=Applied() as maker):
                yield maker, value
            case Applied(callee="()", args=(called, *_)):
                for made in unwrapped(called):
                    if isinstance(made, Applied | Instance):
                        yield made, value


def has_weights(run: Execution, module: Value) -> bool:
    """Whether a network has parameters to learn."""
    if isinstance(module, Delayed):  # `initialised(nn.Linear(4, 2))`
        made = quietly(run, module)
        return not isinstance(made, Delayed) and has_weights(run, made)
    if isinstance(module, Choice):
        return any(has_weights(run, option) for option in module.options)
    if isinstance(module, Instance):
        return has_parameters(run.index, module.cls)
    if isinstance(module, Applied):
        last = module.callee.rpartition(".")[2]
        if last in {"Sequential", "ModuleList", "ModuleDict"}:
            return any(has_weights(run, arg) for arg in _layers(module))
        return module.callee.startswith("torch.nn.") and any(word in last for word in LEARNING_LAYERS)
    return False


def _layers(container: Applied) -> Iterator[Value]:
    """The layers that a Sequential, ModuleList or ModuleDict was given, also by `*layers` or as a list."""
    for given in (*container.args, *container.keywords.values()):
        match given:
            case Items(items=items):
                yield from items
            case Table(entries=entries, rest=rest):
                yield from (*entries.values(), *rest)
            case _:
                yield given


def name_of(module: Value) -> str:
    """What a network is called in messages."""
    if isinstance(module, Instance):
        return module.cls.name
    if isinstance(module, Applied):
        return module.callee.rpartition(".")[2]
    return module.name if isinstance(module, Leaf) else "a network"
