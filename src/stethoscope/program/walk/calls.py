"""What calling each kind of value gives."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stethoscope.program.index import Class, Function, dotted
from stethoscope.program.settings.stated_options import stated_option
from stethoscope.program.walk.builtin_calls import builtin_call, is_instance
from stethoscope.program.walk.call_arguments import call_arguments
from stethoscope.program.walk.chained_layers import kept_by_chain
from stethoscope.program.walk.computed_tensors import computed_call, computed_layer
from stethoscope.program.walk.container_methods import container_method, text_method
from stethoscope.program.walk.effects import BACKWARD, LOSS_KEYWORDS, hands_over_loss
from stethoscope.program.walk.framework_bases import given_to_base
from stethoscope.program.walk.given_back import FABRIC_SETUPS, UNCHANGED, WRAPPERS
from stethoscope.program.walk.opened_outputs import opened_output
from stethoscope.program.walk.parsed_records import parsed_records
from stethoscope.program.walk.registries import (
    REGISTRY_METHODS,
    asked_of_registry,
    definition,
    registered,
    registry_named,
)
from stethoscope.program.walk.settings_paths import is_whole, setting
from stethoscope.program.walk.values import (
    NOTHING,
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
    ModuleValue,
    Outside,
    Part,
    PartialValue,
    Settings,
    Site,
    SuperValue,
    Table,
    Value,
    choice,
    is_nothing,
)

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution
    from stethoscope.program.walk.frames import Frame


ENTRIES = frozenset({"items", "values", "keys"})
UNKNOWN_NAME = "?"  # the last part of `getattr(torch.optim, name)`


def call(run: Execution, node: ast.Call, frame: Frame) -> Value:
    """The value of a call expression."""
    site = Site(frame.module.source, node)
    args, keywords, complete = call_arguments(run, node, frame)
    special = _special(run, node, frame, args, keywords)
    if special is not None:
        return special
    if isinstance(node.func, ast.Attribute):
        receiver = run.evaluate(node.func.value, frame)
        run.met_call(node, frame, receiver, None, args, keywords, complete)
        return call_method(run, receiver, node.func.attr, args, keywords, site, complete)
    callee = run.evaluate(node.func, frame)
    run.met_call(node, frame, None, callee, args, keywords, complete)
    return call_value(run, callee, args, keywords, site, complete)


def bare_name(node: ast.Call) -> str:
    """The last part of what is called, as written: `step` for `self.optimizer.step()`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def call_value(
    run: Execution,
    callee: Value,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
    site: Site,
    complete: bool = True,
) -> Value:
    """`callee(...)`."""
    callee = run.force(callee)
    answer = run.stand_in(callee, args, keywords) if run.stand_in is not None else None
    if answer is not None:
        return answer
    match callee:
        case FunctionValue(function=function):
            if run.eager:
                return run.follow(callee, args, keywords)
            delayed = Delayed(callee, tuple(args), keywords, site)
            if run.can_wait(function) and not callee.around:
                return run.note(delayed)
            run.note(delayed)
            return run.follow(callee, args, keywords)
        case LambdaValue():
            if run.eager or run.tracing:
                return run.follow_lambda(callee, args, keywords)
            return run.note(Delayed(callee, tuple(args), keywords, site))
        case PartialValue(callee=inner, args=first, keywords=fixed):
            return call_value(run, inner, [*first, *args], {**fixed, **keywords}, site, complete)
        case ClassValue(cls=cls):
            return run.construct(cls, args, keywords, open_=not complete)
        case Instance():
            return _call_instance(run, callee, args, keywords, site)
        case Choice():
            return choice(*(call_value(run, option, args, keywords, site) for option in usable(callee)))
        case Outside(name=name):
            return _call_outside(run, name, args, keywords, site)
        case Applied(callee=name, args=[inner, *_]) if name[:1] == "." and name[1:] in UNCHANGED:
            return call_value(run, inner, args, keywords, site, complete)
        case Applied(callee=name) if name and name[0].isalpha() and not name.endswith("()"):
            computed = computed_layer(callee, args, keywords) if run.eager else None
            if computed is not None:
                return computed
            return run.note(Applied(f"{name}()", tuple(args), keywords, site, callee))
    _follow_callbacks(run, args, keywords, site)
    return run.note(Applied("()", (callee, *args), keywords, site))


def call_method(
    run: Execution,
    receiver: Value,
    name: str,
    args: Sequence[Value],
    keywords: Mapping[str, Value],
    site: Site,
    complete: bool = True,
) -> Value:
    """`receiver.name(...)`."""
    if name in BACKWARD:
        sunk = _minimised(run, receiver, args, site)
        if sunk:
            return NOTHING
    if isinstance(receiver, Choice):
        options = usable(receiver)
        return choice(*(call_method(run, option, name, args, keywords, site, complete) for option in options))
    if isinstance(receiver, Delayed) and not run.is_sealed(receiver):
        forced = run.force(receiver)
        if not isinstance(forced, Applied | Part | Leaf | Delayed):
            return call_method(run, forced, name, args, keywords, site, complete)
    if name in ENTRIES and not args:
        receiver = opened_output(run, receiver) or receiver
    contained = container_method(run, receiver, name, args, keywords)
    if contained is not None:
        return contained
    registry = run.registry_of(receiver) if name in REGISTRY_METHODS else ""
    if registry:
        return _from_registry(run, registry, name, list(args), dict(keywords), site)
    if isinstance(receiver, Instance | ClassValue | ModuleValue | SuperValue | Outside):
        found = run.attribute(receiver, name, site)
        if isinstance(found, Part) and name in UNCHANGED:
            return receiver
        if name == "register_buffer" and isinstance(receiver, Instance):
            return _register(
                run, receiver, [*args, *(keywords[k] for k in ("name", "tensor") if k in keywords)]
            )
        if isinstance(receiver, SuperValue) and name == "__init__" and isinstance(found, Outside):
            handed = {
                **given_to_base(run.index, receiver.cls, args, keywords),
                **kept_by_chain(run.index, receiver.cls, args, keywords),
            }
            for own, value in handed.items():
                run.store(receiver.instance, own, value)
        return call_value(run, found, args, keywords, site, complete)
    kept = run.stored_in(receiver, name)
    if kept is not None:  # `state.network(x)` of a namespace that was given one
        return call_value(run, kept, args, keywords, site, complete)
    if isinstance(receiver, Constant) and isinstance(receiver.value, np.generic):
        receiver = Constant(np.asarray(receiver.value))  # one of the elements of an array
    if isinstance(receiver, Constant) and not isinstance(receiver.value, np.ndarray):
        return text_method(receiver, name, args) or Leaf(name)
    if run.eager:
        computed = computed_call(f".{name}", (receiver, *args), keywords)
        if computed is not None:
            return computed
    if args and (name == "prepare" or (name in FABRIC_SETUPS and _is_fabric(receiver))):  # accelerate, fabric
        return args[0] if len(args) == 1 else Items(list(args))
    if name == "get" and args and isinstance(args[0], Constant) and isinstance(args[0].value, str):
        return _got(run, receiver, args[0].value, args[1] if len(args) > 1 else NOTHING)
    parsed = parsed_records(run, receiver, name, keywords)
    if parsed is not None:
        return parsed
    _follow_callbacks(run, args, keywords, site)
    return run.note(Applied(f".{name}", (receiver, *args), keywords, site))


def _got(run: Execution, receiver: Value, key: str, default: Value) -> Value:
    """`loaded.get(key, default)`: the default where only a section deeper in the file has the key."""
    if is_whole(receiver, key) and run.settings.is_only_deeper(key):
        return default
    return run.part(receiver, key)


def usable(value: Choice) -> tuple[Value, ...]:
    """What a choice may be where it is used: None, the absence of an optional thing, has no use."""
    present = tuple(option for option in value.options if not is_nothing(option))
    return present or value.options


def _is_fabric(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"Fabric", "LightningLite"}


def _register(run: Execution, instance: Instance, args: Sequence[Value]) -> Value:
    match args:
        case [Constant(value=str() as name), tensor, *_]:
            run.store(instance, name, tensor)
    return NOTHING


def _special(
    run: Execution, node: ast.Call, frame: Frame, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """Calls that are understood by how they are written."""
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr in REGISTRY_METHODS:
        registry = registry_named(run.index, dotted(func.value))
        if registry:
            return _from_registry(run, registry, func.attr, args, keywords, Site(frame.module.source, node))
    name = dotted(func)
    if name == "super":
        instance = frame.names.get(next(iter(frame.function.parameters), "")) if frame.function else None
        if frame.cls is not None and instance is not None:
            return SuperValue(instance, frame.cls)
    if name == "getattr" and len(args) >= 2:
        return _getattr(run, args, Site(frame.module.source, node))
    if name == "isinstance" and len(args) == 2:
        return is_instance(run, run.force(args[0]), args[1])
    if name in {"globals", "locals", "vars"} and not args:
        return ModuleValue(frame.module)
    if name == "exec" and frame.function is None:
        _replace_constants(run, frame)
    return None


def _replace_constants(run: Execution, frame: Frame) -> None:
    """`exec(open("config.py").read())`: what a script set before gets the value that the settings give it."""
    for own, value in list(frame.names.items()):
        known = run.settings.find((own,), "config") if isinstance(value, Constant) else None
        if known is not None and known[0] == (own,):
            frame.names[own] = setting(*known)


def _call_instance(
    run: Execution, instance: Instance, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value:
    method = run.index.method(instance.cls, "forward") or run.index.method(instance.cls, "__call__")
    if method is None:
        return run.note(Applied("()", (instance, *args), keywords, site))
    callee = FunctionValue(method, instance)
    acts = run.tracing and method.name == "__call__" and not run.can_wait(method)
    if not run.eager and not run.may_train(method) and not acts:
        # A module may keep windows and buffers for itself; its result is what matters.
        return run.note(Delayed(callee, tuple(args), keywords, site))
    return call_value(run, callee, args, keywords, site)


def _call_outside(
    run: Execution, name: str, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value:
    if name == "copy.deepcopy" and args and run.tracing:
        return _copied(run, args[0], site)
    if name in WRAPPERS or name.endswith(("DistributedDataParallel", "DataParallel")):
        empty = Items([]) if name.endswith("ModuleList") else Table({})  # filled later
        given = args[-1:] if name == "typing.cast" else args[:1]  # `DataParallel(model, [0, 1])`
        return given[0] if given else keywords.get("module", empty)
    if name == "apex.amp.initialize" and (args or "models" in keywords):  # casts what it gets in place
        given = (*args[:2], *(keywords[key] for key in ("models", "optimizers") if key in keywords))
        return given[0] if len(given) == 1 else Items(list(given))
    if name in {"functools.partial", "partial"} and args:
        return PartialValue(args[0], tuple(args[1:]), keywords)
    if name in {"hydra.utils.instantiate", "hydra.utils.call"} and args:
        made = _instantiated(run, run.force(args[0]), keywords, site)
        if made is not None:
            return made
    if name == "map" and len(args) > 1 and isinstance(run.force(args[1]), Items):
        return Items(mapped(run, args, site))
    if name == "functools.reduce" and len(args) > 1 and isinstance(run.force(args[1]), Items):
        return _folded(run, args, site)
    known = builtin_call(run, name, args, keywords, site)
    if known is not None:
        return known
    if run.eager:
        computed = computed_call(name, args, keywords)
        if computed is not None:
            return computed
    if name == "torch.autograd.backward" and args:
        run.sink(args[0], site)
        return NOTHING
    _follow_callbacks(run, args, keywords, site)
    return run.note(Applied(name, tuple(args), keywords, site))


def mapped(run: Execution, args: Sequence[Value], site: Site) -> list[Value]:
    """What `map(function, *columns)` gives, one call for each element or one for an unknown element."""
    columns = [run.elements(column) for column in args[1:]]
    return [call_value(run, args[0], list(row), {}, site) for row in zip(*columns, strict=False)]


def _folded(run: Execution, args: Sequence[Value], site: Site) -> Value:
    """`functools.reduce(function, elements, first)`."""
    elements = [*args[2:3], *run.elements(args[1])]
    folded = elements[0] if elements else NOTHING
    for element in elements[1:]:
        folded = call_value(run, args[0], [folded, element], {}, site)
    return folded


def _copied(run: Execution, value: Value, site: Site) -> Value:
    """A copy of a network is another network: an average is one, and has a mode of its own."""
    if isinstance(value, Instance):
        return run.copy(value)
    if isinstance(value, Choice):
        return choice(*(_copied(run, option, site) for option in value.options))
    return Applied("copy.deepcopy", (value,), {}, site) if isinstance(value, Applied | Leaf | Part) else value


def _instantiated(run: Execution, settings: Value, keywords: Mapping[str, Value], site: Site) -> Value | None:
    """`instantiate(cfg.model)`: the settings name a class or function, and what it gets."""
    if not isinstance(settings, Settings) or not isinstance(settings.tree, dict):
        return None
    given: dict[str, Value] = {}
    for name in settings.tree:
        if not name.startswith("_"):
            value = run.part(settings, name)
            given[name] = _instantiated(run, value, {}, site) or value
    if "_target_" not in settings.tree:
        # A section without a target may hold some that have one.
        entries: dict[object, Value] = {}
        entries.update(given)
        return Table(entries) if any(map(_is_made, given.values())) else None
    target = run.index.named(str(settings.tree["_target_"]))
    if not isinstance(target, Function | Class):
        return None
    return call_value(run, definition(target), (), {**given, **keywords}, site)


def _is_made(value: Value) -> bool:
    return not isinstance(value, Settings | Constant)


def _sink_handed_over(run: Execution, loss: Value, site: Site) -> None:
    """A loss given to a trainer from outside (`Learner(loss_func=...)`) is minimised there."""
    if isinstance(loss, Instance | FunctionValue | LambdaValue | PartialValue):
        prediction = Applied("()", (Leaf("model"), Leaf("input")), {}, site)
        run.sink(call_value(run, loss, (prediction, Leaf("target")), {}, site), site)


def _follow_callbacks(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> None:
    """`optimizer.step(closure)`, `Learner(loss_func=f)`: what is handed on is called there."""
    if hands_over_loss(site.node):
        for keyword in LOSS_KEYWORDS & keywords.keys():
            _sink_handed_over(run, run.force(keywords[keyword]), site)
    is_closure = run.tracing and isinstance(site.node, ast.Call) and bare_name(site.node) == "step"
    for value in (*args, *keywords.values()):
        if not isinstance(value, FunctionValue) or run.can_wait(value.function):
            continue
        if value.around or is_closure:
            call_value(run, value, [Leaf(p) for p in value.function.parameters], {}, site)


def _minimised(run: Execution, receiver: Value, args: Sequence[Value], site: Site) -> bool:
    """Remember the loss of a backward pass; false where the repository's own method should be followed."""
    if isinstance(receiver, Instance | SuperValue) and not args:
        return False
    if isinstance(receiver, Instance) and run.index.method(receiver.cls, "backward") is not None:
        return False
    made_outside = isinstance(receiver, Applied) and receiver.callee.rpartition(".")[2][:1].isupper()
    no_tensor = made_outside or isinstance(receiver, Outside | Instance | Leaf | Part)
    if no_tensor and args and not is_nothing(args[0]):
        run.sink(args[0], site)  # accelerator.backward(loss), engine.backward(loss)
    else:
        run.sink(unscaled(receiver), site)
    return True


def unscaled(value: Value) -> Value:
    """The loss inside `scaler.scale(loss)`."""
    while isinstance(value, Applied) and value.callee == ".scale" and len(value.args) == 2:
        value = value.args[1]
    if isinstance(value, Choice):
        return choice(*(unscaled(option) for option in value.options))
    return value


def _from_registry(
    run: Execution, registry: str, method: str, args: list[Value], keywords: dict[str, Value], site: Site
) -> Value:
    asked = asked_of_registry(run, registry, method, args, keywords)
    if method == "get":
        return registered(run, registry, asked.key)
    made = registered(run, registry, asked.key)
    return call_value(run, made, asked.args, asked.keywords, site, complete=bool(asked.keywords))


def _getattr(run: Execution, args: list[Value], site: Site) -> Value:
    base, name = run.force(args[0]), args[1]
    if isinstance(name, Constant) and isinstance(name.value, str):
        found = run.attribute(base, name.value, site)
        unknown = isinstance(found, Part) and isinstance(base, Instance)
        return args[2] if unknown and len(args) > 2 else found
    if isinstance(base, ModuleValue):
        own = {n: v for n, v in base.module.names.items() if isinstance(v, Function | Class)}
        named = run.settings.named([name.lower() for name in own])
        chosen = [value for key, value in own.items() if key.lower() in named]
        if chosen:
            return choice(*(definition(value) for value in chosen))
    if isinstance(base, Outside):
        option = option_for(run, name) if base.name == "torch" else None
        last = option.value if option is not None and isinstance(option.value, str) else UNKNOWN_NAME
        return Outside(f"{base.name}.{last.rpartition('.')[2]}")
    return Leaf("getattr")


def option_for(run: Execution, value: Value) -> Constant | None:
    """What an option that a walk could not follow stands at, for a choice among names of torch."""
    if not (isinstance(value, Part) and isinstance(value.key, str)):
        return None
    return stated_option(run.index, run.settings, value.key)


def are_torch_names(values: Iterable[Value]) -> bool:
    """Whether a table holds plain names of torch, as the types of numbers."""
    return all(isinstance(value, Outside) and value.name.startswith("torch.") for value in values)
