"""What calling each kind of value gives."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.arithmetic import combine
from stethoscope.program.effects import BACKWARD, LOSS_KEYWORDS, hands_over_loss
from stethoscope.program.framework_bases import given_to_base
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.parsed_records import parsed_records
from stethoscope.program.stated_options import stated_option
from stethoscope.program.tensor_operations import CannotCompute, compute, compute_layer, index_array
from stethoscope.program.values import (
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
    inputs,
)

if TYPE_CHECKING:
    from stethoscope.program.execution import Execution, Frame

BUILTINS = frozenset(dir(builtins))

# A call that gives back what it got: wrappers, moves between devices, modes.
UNCHANGED = frozenset(
    {
        "to",
        "cuda",
        "cpu",
        "half",
        "double",
        "train",
        "eval",
        "requires_grad_",
        "apply",
        "share_memory",
        "compile",
    }
)
WRAPPERS = (
    "torch.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.weight_norm",
    "torch.nn.utils.parametrizations.spectral_norm",
    "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.orthogonal",
    "copy.deepcopy",
    "copy.copy",
    "torch.nn.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.ModuleList",
    "torch.nn.ModuleDict",
    "torch.nn.ParameterList",
    "torch.nn.ParameterDict",
    "collections.OrderedDict",
    "typing.cast",
    "torch.autograd.Variable",
    "torch.nn.Parameter",
    "staticmethod",
)
LEARNING_LAYERS = (
    "Conv",
    "Linear",
    "Embedding",
    "LSTM",
    "GRU",
    "Parameter",
    "BatchNorm",
    "Attention",
    "Transformer",
)
SPREAD = "**"  # the keyword under which an unresolved `**mapping` is given
STARRED = "*"  # the same for an unresolved `*sequence`
UNKNOWN_NAME = "?"  # the last part of `getattr(torch.optim, name)`
MOVES = frozenset(
    {".to", ".cuda", ".cpu", ".contiguous", ".pin_memory", ".clone", ".detach", ".float", ".long"}
)
PARAMETER_MAKERS = frozenset({"Parameter", "ParameterDict", "ParameterList"})
FABRIC_SETUPS = frozenset({"setup", "setup_module", "setup_optimizers", "setup_dataloaders"})
REGISTRY_METHODS = frozenset({"get", "build", "create", "make", "from_config", "from_cfg"})
# fmt: off
DETACHING = frozenset({
    "detach", "detach_", "item", "numpy", "tolist", "data", "argmax", "eq", "round",
})
# fmt: on
# Callables that make or move things rather than predict.
NO_MODEL_WORDS = frozenset(
    {
        "make",
        "build",
        "create",
        "get",
        "setup",
        "load",
        "loader",
        "init",
        "prepare",
        "parse",
        "dataset",
        "next",
    }
    | {"transform", "transforms", "device", "log", "print", "sample", "read", "collate", "open", "config"}
)
MODEL_WORDS = frozenset(
    {
        "model",
        "net",
        "network",
        "generator",
        "encoder",
        "decoder",
        "head",
        "backbone",
        "module",
        "forward",
        "g",
    }
)


def call(run: Execution, node: ast.Call, frame: Frame) -> Value:
    """The value of a call expression."""
    site = Site(frame.module.source, node)
    args, keywords, complete = _arguments(run, node, frame)
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
            computed = _computed_layer(callee, args, keywords) if run.eager else None
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
    contained = _container_method(run, receiver, name, args, keywords)
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
            for kept, value in given_to_base(run.index, receiver.cls, args, keywords).items():
                run.store(receiver.instance, kept, value)
        return call_value(run, found, args, keywords, site, complete)
    if isinstance(receiver, Constant) and not isinstance(receiver.value, np.ndarray):
        return _constant_method(receiver, name, args) or Leaf(name)
    if run.eager:
        computed = _computed(f".{name}", (receiver, *args), keywords)
        if computed is not None:
            return computed
    if args and (name == "prepare" or (name in FABRIC_SETUPS and _is_fabric(receiver))):  # accelerate, fabric
        return args[0] if len(args) == 1 else Items(list(args))
    if name == "get" and args and isinstance(args[0], Constant) and isinstance(args[0].value, str):
        return run.part(receiver, args[0].value)
    parsed = parsed_records(run, receiver, name, keywords)
    if parsed is not None:
        return parsed
    _follow_callbacks(run, args, keywords, site)
    return run.note(Applied(f".{name}", (receiver, *args), keywords, site))


def usable(value: Choice) -> tuple[Value, ...]:
    """What a choice may be where it is used: None, the absence of an optional thing, has no use."""
    present = tuple(
        option for option in value.options if not (isinstance(option, Constant) and option.value is None)
    )
    return present or value.options


def _is_fabric(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in {"Fabric", "LightningLite"}


def is_network_pass(index: Index, value: Value, with_scales: bool = False) -> bool:
    """Whether a value is the output of a module that learns; optionally of one with only scales to learn."""
    if isinstance(value, Applied) and value.callee.endswith("()") and value.callee != "()":
        return any(word in value.callee for word in LEARNING_LAYERS) or value.callee.endswith("Sequential()")
    if not isinstance(value, Delayed) or not isinstance(value.callee, FunctionValue):
        return False
    bound = value.callee.bound
    return (
        value.callee.function.name in {"forward", "__call__"}
        and isinstance(bound, Instance)
        and (has_parameters(index, bound.cls) if with_scales else learns(index, bound.cls))
    )


def is_model_call(index: Index, value: Value) -> bool:
    """Whether a value is what a network gave back: one of the repository, or an unknown callable."""
    if is_network_pass(index, value):
        return True
    if not isinstance(value, Applied) or value.callee != "()":
        return False
    return not NO_MODEL_WORDS.intersection(words(callable_name(value.args[0])))


def comes_from_model(run: Execution, value: Value, detached_counts: bool = True) -> bool:
    """Whether a value was made from a network's output; optionally only where gradients still reach it."""
    known = run.from_model if detached_counts else run.with_gradient
    waiting: list[tuple[Value, bool]] = [(value, False)]
    while waiting:
        current, is_done = waiting.pop()
        if is_done:
            # Keys are ids, so the value is kept alive beside the answer.
            known[id(current)] = (
                any(known[id(i)][0] for i in _leading(run, current) if id(i) in known),
                current,
            )
        elif id(current) not in known:
            known[id(current)] = (_is_output(run, current, detached_counts), current)
            if not known[id(current)][0] and not _is_barrier(current, detached_counts):
                waiting.append((current, True))
                waiting.extend((i, False) for i in _leading(run, current) if id(i) not in known)
    return known[id(value)][0]


def _is_output(run: Execution, value: Value, detached_counts: bool) -> bool:
    return not _is_barrier(value, detached_counts) and is_model_call(run.index, value)


def _is_barrier(value: Value, detached_counts: bool) -> bool:
    """Values behind which a network's output does not show."""
    if isinstance(value, Instance | FunctionValue) or _is_about_shape(value):
        return True
    return not detached_counts and isinstance(value, Applied) and detaches(value)


def _leading(run: Execution, value: Value) -> Iterator[Value]:
    """The inputs of a value that matter for what it holds."""
    if isinstance(value, Part) and value.key == "*" and not _is_named_model(run.index, value.base):
        return  # an element of a data set, however that was made
    yield from inputs(value)


def moved(value: Value) -> Value:
    """What was moved or cast, without the moves."""
    while isinstance(value, Applied) and value.callee in MOVES and value.args:
        value = value.args[0]
    return value


def detaches(value: Applied) -> bool:
    """Whether a call cuts gradients off."""
    return value.callee in {"float", "int"} or value.callee.rpartition(".")[2] in DETACHING


def _is_about_shape(value: Value) -> bool:
    """Sizes, types and devices tell nothing of what a tensor holds."""
    if isinstance(value, Part):
        return value.key in {"shape", "device", "dtype", "ndim"}
    return isinstance(value, Applied) and value.callee in {
        ".size",
        ".dim",
        ".numel",
        "len",
        ".type",
        ".new_zeros",
    }


def callable_name(value: Value) -> str:
    """The name that an unresolved callable goes by."""
    if isinstance(value, Part):
        return (
            str(value.key) if isinstance(value.key, str) and value.key != "*" else callable_name(value.base)
        )
    if isinstance(value, Applied) and value.callee != "()" and value.args:
        return callable_name(value.args[0])
    return getattr(value, "name", "")


def _is_named_model(index: Index, value: Value) -> bool:
    if is_network_pass(index, value):
        return True
    is_call = isinstance(value, Applied) and value.callee == "()"
    return is_call and bool(MODEL_WORDS.intersection(words(callable_name(value.args[0]))))  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def learns(index: Index, cls: Class) -> bool:
    """Whether a class makes layers with weights; a few learned scales, as for weighing losses, are none."""
    return any(not _is_scales(node) for node in _learning_calls(index, cls))


@lru_cache(maxsize=4096)
def has_parameters(index: Index, cls: Class) -> bool:
    """Whether a class makes anything that an optimizer could train."""
    return any(True for _ in _learning_calls(index, cls))


def _learning_calls(index: Index, cls: Class) -> Iterator[ast.Call]:
    for ancestor in index.lineage(cls):
        for node in ast.walk(ancestor.node):
            if isinstance(node, ast.Call):
                name = (dotted(node.func) or "").rpartition(".")[2]
                if any(word in name for word in LEARNING_LAYERS) or _is_learning_class(index, ancestor, name):
                    yield node


def _is_scales(call: ast.Call) -> bool:
    """`nn.Parameter(torch.zeros(()))`, or of a handful: no matrix, and nothing drawn at random."""
    if (dotted(call.func) or "").rpartition(".")[2] not in PARAMETER_MAKERS:
        return False
    made = call.args[0] if call.args else None
    if made is None:
        return (dotted(call.func) or "").rpartition(".")[2] != "Parameter"  # a list or dict of them
    inside = [node for node in ast.walk(made) if isinstance(node, ast.Call)]
    tensors = [
        node for node in inside if (dotted(node.func) or "").rpartition(".")[2] not in PARAMETER_MAKERS
    ]
    return bool(tensors) and all(_is_scale(node) for node in tensors)


def _is_scale(call: ast.Call) -> bool:
    last = (dotted(call.func) or "").rpartition(".")[2]
    if last == "tensor":
        return not any(isinstance(node, ast.List) and len(node.elts) > 16 for node in ast.walk(call))
    if last in {"zeros", "ones", "full"}:
        sizes = call.args[:1] if last == "full" else call.args
        return len(sizes) <= 1 and not any(isinstance(s, ast.Tuple | ast.List) and s.elts for s in sizes)
    return last in {"log", "float", "len", "exp", "sqrt"}


def range_elements(args: Sequence[Value], most: int) -> list[Value]:
    """The numbers of a short known range, or one unknown number; `most` of 0 asks for no numbers at all."""
    known = [arg.value for arg in args if isinstance(arg, Constant) and isinstance(arg.value, int)]
    if most and len(known) == len(args) and known and len(range(*known)) <= most:
        return [Constant(number) for number in range(*known)]
    return [Leaf("index")]


def registry_item(run: Execution, base: ast.expr, key: ast.expr, frame: Frame) -> Value | None:
    """`LOSSES[name]` where LOSSES is a registry filled by decorators."""
    registry = _registry(run.index, dotted(base))
    return registered(run, registry, run.evaluate(key, frame)) if registry else None


def array_attribute(array: np.ndarray[Any, Any], name: str) -> Value:
    """`tensor.shape` and the like."""
    if name == "shape":
        return Items([Constant(size) for size in array.shape])
    known: dict[str, object] = {"ndim": array.ndim, "is_cuda": False, "requires_grad": False, "device": "cpu"}
    known |= {"dtype": "float32", "data": array, "T": array.T, "real": array.real, "imag": array.imag}
    return Constant(known[name]) if name in known else Leaf(name)


def array_item(array: np.ndarray[Any, Any], key: Value) -> Value:
    """`tensor[key]`."""
    try:
        return wrapped(index_array(array, concrete(key)))
    except CannotCompute:
        return Leaf("item")


def concrete(value: Value) -> Any:
    """The number, text, tensor or nest of them that a value is, where that is known."""
    match value:
        case Constant(value=known):
            return known
        case Items(items=items):
            return tuple(concrete(item) for item in items)
        case Applied(callee="slice", args=args):
            bounds = [concrete(arg) for arg in args]
            return slice(*(int(b) if isinstance(b, float | np.ndarray) else b for b in bounds))
        case Outside(name=name):
            return name  # a dtype or device
    raise CannotCompute("not known")


def wrapped(result: Any) -> Value:
    """A computed result as a value."""
    if isinstance(result, tuple | list):
        return Items([wrapped(item) for item in result])
    return Constant(result)


def _computed(name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    try:
        known = {key: concrete(value) for key, value in keywords.items() if key not in {"dtype", "device"}}
        return wrapped(compute(name, [concrete(arg) for arg in args], known))
    except CannotCompute:
        return None


def _computed_layer(maker: Applied, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    try:
        made = [concrete(arg) for arg in maker.args]
        made_keywords = {key: concrete(value) for key, value in maker.keywords.items()}
        given = [concrete(arg) for arg in args]
        known = {key: concrete(value) for key, value in keywords.items()}
        return wrapped(compute_layer(maker.callee, made, made_keywords, given, known))
    except CannotCompute:
        return None


def _register(run: Execution, instance: Instance, args: Sequence[Value]) -> Value:
    match args:
        case [Constant(value=str() as name), tensor, *_]:
            run.store(instance, name, tensor)
    return NOTHING


def _isinstance(run: Execution, value: Value, kind: Value) -> Value:
    kinds = kind.items if isinstance(kind, Items) else [kind]
    names = [k.name.rpartition(".")[2] for k in kinds if isinstance(k, Outside)]
    if isinstance(value, Constant):
        own = "Tensor" if isinstance(value.value, np.ndarray) else type(value.value).__name__
        return Constant(own in names)
    if isinstance(value, Instance):
        lineage = run.index.lineage(value.cls)
        if any(isinstance(k, ClassValue) and k.cls in lineage for k in kinds):
            return Constant(True)
    if isinstance(value, Items | Table):
        return Constant(any(name in {"list", "tuple", "dict", "Sequence", "Mapping"} for name in names))
    return Leaf("isinstance")


def _arguments(run: Execution, node: ast.Call, frame: Frame) -> tuple[list[Value], dict[str, Value], bool]:
    """The arguments, and whether all of them are known by name."""
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    complete = True
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            spread = run.force(run.evaluate(arg.value, frame))
            args.extend(spread.items if isinstance(spread, Items) else [])
            if not isinstance(spread, Items):
                keywords[STARRED] = spread
                complete = False
        else:
            args.append(run.evaluate(arg, frame))
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        spread = run.force(value)
        if isinstance(spread, Table):
            keywords.update({str(k): v for k, v in spread.entries.items()})
            complete = complete and not spread.rest
        elif isinstance(spread, Settings) and isinstance(spread.tree, dict):
            keywords.update({name: run.part(spread, name) for name in spread.tree})
        else:
            keywords[SPREAD] = spread
            complete = False
    return args, keywords, complete


def _special(
    run: Execution, node: ast.Call, frame: Frame, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """Calls that are understood by how they are written."""
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr in REGISTRY_METHODS:
        registry = _registry(run.index, dotted(func.value))
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
        return _isinstance(run, run.force(args[0]), args[1])
    if name in {"globals", "locals", "vars"} and not args:
        return ModuleValue(frame.module)
    return None


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
    builtin = _BUILTIN_CALLS.get(name)
    known = builtin(run, args, keywords, site) if builtin else None
    if known is not None:
        return known
    if run.eager:
        computed = _computed(name, args, keywords)
        if computed is not None:
            return computed
    if name == "torch.autograd.backward" and args:
        run.sink(args[0], site)
        return NOTHING
    _follow_callbacks(run, args, keywords, site)
    return run.note(Applied(name, tuple(args), keywords, site))


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
    return call_value(run, _definition(target), (), {**given, **keywords}, site)


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
    if no_tensor and args and not _is_nothing(args[0]):
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


def _is_nothing(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None


def _container_method(
    run: Execution, receiver: Value, name: str, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value | None:
    match receiver:
        case Items(items=items):
            if name in {"append", "add"} and args:
                items.append(args[0])
                return NOTHING
            if name == "extend" and args:
                items.extend(run.elements(args[0]))
                return NOTHING
            return receiver if name in UNCHANGED or name == "copy" else None
        case Table():
            return _table_method(run, receiver, name, args, keywords)
        case Settings(tree=tree):
            if name == "get" and args and isinstance(args[0], Constant):
                found = run.part(receiver, args[0].value)  # type: ignore[arg-type]
                return args[1] if _is_nothing(found) and len(args) > 1 else found
            if name == "pop" and args and isinstance(args[0], Constant):
                return run.part(receiver, args[0].value)  # type: ignore[arg-type]
            if name in {"items", "values"} and isinstance(tree, dict):
                values = [run.part(receiver, key) for key in tree]
                return Items(
                    values
                    if name == "values"
                    else [Items([Constant(k), v]) for k, v in zip(tree, values, strict=True)]
                )
            if name in {"copy", "keys"}:
                return receiver
    return None


def _table_method(
    run: Execution, table: Table, name: str, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value | None:
    if name == "values":
        return Items([*table.entries.values(), *table.rest])
    if name == "items":
        known = [Items([Constant(key), value]) for key, value in table.entries.items()]
        return Items([*known, *(Items([Leaf("key"), value]) for value in table.rest)])
    if name in {"keys", "copy", *UNCHANGED}:
        return table
    if name in {"get", "pop", "setdefault"} and args:
        key = args[0].value if isinstance(args[0], Constant) else None
        if isinstance(args[0], Constant) and key not in table.entries and not table.rest and len(args) > 1:
            if name == "setdefault":
                run.write(table.entries, key, args[1])
            return args[1]
        return run.item(table, args[0])
    if name == "update":
        for source in (run.force(arg) for arg in args):
            if isinstance(source, Table):
                table.entries.update(source.entries)
                table.rest.extend(source.rest)
        _spread_into(table, keywords)
        return NOTHING
    return None


def _constant_method(receiver: Constant, name: str, args: Sequence[Value]) -> Value | None:
    """Methods of known text: lower, replace, split and the like."""
    text = receiver.value
    known = [arg.value for arg in args if isinstance(arg, Constant)]
    if not isinstance(text, str) or len(known) != len(args):
        return None
    if name not in {
        "lower",
        "upper",
        "replace",
        "strip",
        "removesuffix",
        "removeprefix",
        "startswith",
        "endswith",
    }:
        return None
    try:
        return Constant(getattr(text, name)(*known))
    except (TypeError, ValueError):
        return None


def _registry(index: Index, name: str | None) -> str:
    last = (name or "").rpartition(".")[2]
    return last if last in index.registries else ""


def registered(run: Execution, registry: str, key: Value) -> Value:
    """What is registered under a key; where it is not known, what the settings name, else all."""
    entries = run.index.registries[registry]
    if isinstance(key, Constant) and isinstance(key.value, str) and key.value.lower() in entries:
        return _definition(entries[key.value.lower()])
    named = run.settings.named(entries)
    chosen = [value for name, value in entries.items() if name in named] or list(entries.values())
    return choice(*(_definition(value) for value in chosen))


def _from_registry(
    run: Execution, registry: str, method: str, args: list[Value], keywords: dict[str, Value], site: Site
) -> Value:
    key: Value = args[0] if args else Leaf("key")
    if method == "get":
        return registered(run, registry, key)
    key = run.force(key)
    settings = dict(keywords)
    if isinstance(key, Settings) and isinstance(key.tree, dict):
        settings.update({name: run.part(key, name) for name in key.tree if name not in {"type", "name"}})
        key = next((run.part(key, name) for name in ("type", "name") if name in key.tree), key)
    elif isinstance(key, Table):
        settings.update({str(n): v for n, v in key.entries.items() if n not in {"type", "name"}})
        key = key.entries.get("type") or key.entries.get("name") or key
    return call_value(run, registered(run, registry, key), [], settings, site, complete=bool(settings))


def _definition(item: Function | Class) -> Value:
    return ClassValue(item) if isinstance(item, Class) else FunctionValue(item)


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
            return choice(*(_definition(value) for value in chosen))
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


def _is_learning_class(index: Index, user: Class, name: str) -> bool:
    target = index.resolve(index.module_of(user.source), name) if name else None
    if not isinstance(target, Class) or target is user:
        return False
    return any(
        isinstance(node, ast.Call) and any(w in (dotted(node.func) or "") for w in LEARNING_LAYERS)
        for node in ast.walk(target.node)
    )


_Builtin = Callable[["Execution", Sequence[Value], Mapping[str, Value], Site], Value | None]


def _sum(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    elements = run.elements(args[0]) if args else []
    if not elements or isinstance(run.force(args[0]), Leaf | Part | Applied):
        return None
    total = elements[0]
    for element in elements[1:]:
        total = combine("+", total, element, site)
    return total


def _enumerate(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    elements = run.elements(args[0]) if args else []
    known = isinstance(run.force(args[0]), Items | Constant) if args else False
    return Items([Items([Constant(i) if known else Leaf("index"), e]) for i, e in enumerate(elements)])


def _zip(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    columns = [run.elements(arg) for arg in args]
    longest = max((len(column) for column in columns), default=0)
    # An unknown partner of a known list gives one unknown element for each.
    padded = [
        column if len(column) == longest else (column or [Leaf("item")])[:1] * longest for column in columns
    ]
    return Items([Items(list(row)) for row in zip(*padded, strict=True)])


def _dict(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    table = Table({})
    _spread_into(table, keywords)
    for arg in args:
        source = run.force(arg)
        if isinstance(source, Table):
            table.entries.update(source.entries)
            table.rest.extend(source.rest)
        elif not isinstance(source, Items):
            return source
    return table


def _spread_into(table: Table, keywords: Mapping[str, Value]) -> None:
    table.entries.update({key: value for key, value in keywords.items() if key not in {SPREAD, STARRED}})
    table.rest.extend(value for key, value in keywords.items() if key == SPREAD)


def _list(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    if not args:
        return Items([])
    source = run.force(args[0])
    return Items(list(source.items)) if isinstance(source, Items) else source


def _fromkeys(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    value = args[1] if len(args) > 1 else NOTHING
    source = run.force(args[0])
    if isinstance(source, Table):
        return Table(dict.fromkeys(source.entries, value), [value] if source.rest else [])
    return Table({}, [value])


def _tqdm(run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site) -> Value | None:
    return args[0] if args else keywords.get("iterable")


def _number(function: Callable[[float], float]) -> _Builtin:
    def known(
        run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
    ) -> Value | None:
        if len(args) == 1 and isinstance(args[0], Constant) and isinstance(args[0].value, int | float):
            try:
                return Constant(function(args[0].value))
            except (ValueError, OverflowError):
                return None
        return None

    return known


def _ignored(
    run: Execution, args: Sequence[Value], keywords: Mapping[str, Value], site: Site
) -> Value | None:
    return NOTHING


_BUILTIN_CALLS: dict[str, _Builtin] = {
    "sum": _sum,
    "enumerate": _enumerate,
    "zip": _zip,
    "dict": _dict,
    "dict.fromkeys": _fromkeys,
    "list": _list,
    "tuple": _list,
    "set": _list,
    "collections.defaultdict": lambda run, args, *_: Table({}, missing=args[0] if args else None),
    "tqdm.tqdm": _tqdm,
    "tqdm.auto.tqdm": _tqdm,
    "tqdm": _tqdm,
    "reversed": _list,
    "sorted": _list,
    "iter": _list,
    "abs": _number(abs),
    "float": _number(float),
    "math.log": _number(math.log),
    "math.exp": _number(math.exp),
    "math.sqrt": _number(math.sqrt),
    "print": _ignored,
}
