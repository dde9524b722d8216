"""Which functions run in half precision, and the type of every value in them.

A function is reached from a region of autocast (a `with` block, a decorator, a framework's precision), from a
network whose weights are half, or because it casts to half itself. What is called from there is followed
through submodules, lists of layers and plain functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from stethoscope.program.apex import initialised
from stethoscope.program.autocast import (
    HALVES,
    Autocast,
    DType,
    autocast_of,
    dtypes_of,
    engine_autocast,
    engine_weights,
    named_dtype,
)
from stethoscope.program.dtype_flow import Flow, Noted
from stethoscope.program.effects import own_nodes
from stethoscope.program.entered_modes import entered
from stethoscope.program.events import Assignment, Call, Event, Scope
from stethoscope.program.execution import Execution, Exhausted
from stethoscope.program.framework_precision import (
    called_by_framework,
    made_somewhere,
    told_precision,
    within,
)
from stethoscope.program.index import Class, Function, FunctionNode, Index, Module, dotted
from stethoscope.program.precision import called, entered_value, networks
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.stated_options import stated
from stethoscope.program.tensor_calls import Body
from stethoscope.program.tensor_types import Held, Mode
from stethoscope.program.trace import Trace, traces
from stethoscope.program.values import (
    Applied,
    Choice,
    ClassValue,
    Delayed,
    Instance,
    Items,
    Part,
    Value,
)

MOST_ROOTS = 400  # functions that begin a walk
ROOT_STEPS = 40_000  # nodes visited from one of them
CASTS = frozenset({"half", "bfloat16"})
PREPARING = frozenset({"prepare", "prepare_model", "setup", "setup_module", "setup_model"})
SHARDING = frozenset({"fully_shard", "FSDP", "FullyShardedDataParallel"})
HALF_NAMES = frozenset({"float16", "bfloat16", "half"})


@dataclass(frozen=True, slots=True, eq=False)
class HalfSections:
    """Every function that runs in half precision, and what its expressions were.

    `lowered` are the calls and products that autocast runs in half, whatever they get; `reached` are the
    functions of the repository that calls lead to.
    """

    index: Index
    functions: tuple[Function | Module, ...]
    noted: dict[ast.expr, Noted]
    lowered: frozenset[ast.expr] = frozenset()
    reached: dict[ast.expr, set[Function]] = field(default_factory=dict)
    dtype: DType = DType.FLOAT16  # the half type that is asked about

    def under(self, dtype: DType) -> HalfSections:
        """The same, asked about another half type."""
        return replace(self, dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self.functions)

    def of(self, node: ast.expr) -> Noted | None:
        """What an expression was; None where it was never reached."""
        return self.noted.get(node)

    def is_half(self, node: ast.expr) -> bool:
        """Whether an expression's value was of the half type on some way it was reached."""
        noted = self.noted.get(node)
        return noted is not None and self.dtype in noted.dtypes

    def is_certain(self, node: ast.expr) -> bool:
        """Whether an expression is half under the settings as they are, not only under other ones."""
        noted = self.noted.get(node)
        return noted is not None and noted.sure and any(mode.certain for mode in noted.modes)

    def spoken(self, node: ast.expr) -> str:
        """The half type as it is told: whether an expression has it at all may depend on settings."""
        noted = self.noted.get(node)
        is_open = noted is not None and not any(mode.certain for mode in noted.modes)
        return f"{self.dtype} under some settings" if is_open else str(self.dtype)

    def in_autocast(self, node: ast.expr) -> bool:
        """Whether an expression was reached inside a region of the half type."""
        noted = self.noted.get(node)
        return noted is not None and any(mode.half is self.dtype for mode in noted.modes)

    def bodies(self) -> Iterator[Body]:
        """The functions and scripts, ready to be searched."""
        for function in self.functions:
            yield Body(self.index, function, tuple(self.nodes(function)))

    def nodes(self, function: Function | Module) -> Iterator[ast.AST]:
        """The nodes of a function in order, those of functions defined inside it too."""
        body = function.source.tree.body if isinstance(function, Module) else function.node.body
        waiting: list[ast.AST] = list(reversed(body))
        is_script = isinstance(function, Module)
        while waiting:
            node = waiting.pop()
            if is_script and isinstance(node, FunctionNode | ast.ClassDef):
                continue
            yield node
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


@remembered
def half_sections(index: Index, settings: SettingsTree) -> HalfSections:
    """Follow all that runs in half precision."""
    if not _speaks_of_half(index, settings):
        return HalfSections(index, (), {})
    known = traces(index, settings)
    contexts, callees = _met(known)
    run = Execution(index, settings, 0)
    flow = Flow(run, contexts, callees, [trace.run for trace in known])
    for root in _roots(index, run, known):
        root.follow(flow)
    return HalfSections(index, tuple(flow.functions), flow.noted, frozenset(flow.lowered), flow.reached)


def _speaks_of_half(index: Index, settings: SettingsTree) -> bool:
    """Whether the program has any word about half precision: most have none, and need no walk."""
    words = ("autocast", "half(", "float16", "bfloat16", "precision", "fp16", "bf16", "apex", "AmpOptim")
    if any(word in source.text for source in index.program for word in words):
        return True
    return any(settings.values_named(name) for name in ("precision", "mixed_precision", "fp16", "bf16"))


def _met(known: Iterable[Trace]) -> tuple[dict[int, Value], dict[int, Value]]:
    """What the walks of training met: what each `with` enters, and what each call leads to."""
    contexts: dict[int, Value] = {}
    callees: dict[int, Value] = {}
    for trace in known:
        for event in trace.events:
            for scope in event.scopes():
                if scope.kind == "with" and id(scope.node) not in contexts:
                    value = entered_value(trace.run, scope)
                    if value is not None:
                        contexts[id(scope.node)] = value
            if isinstance(event, Call):
                callee = called(trace.run, event)
                if callee is not None:
                    callees.setdefault(id(event.site.node), callee)
    return contexts, callees


# Where walks begin


@dataclass(frozen=True, slots=True, eq=False)
class _Root:
    """A function, the object it is bound to, and the mode it begins in; or a network of torch's parts."""

    function: Function | Module | None
    bound: Value | None
    mode: Mode

    def follow(self, flow: Flow) -> None:
        """Follow the function with arguments that are not known."""
        flow.begin(ROOT_STEPS)
        if self.function is None:
            flow.call(self.bound, [Held()], {}, self.mode)
            return
        if isinstance(self.function, Module):
            flow.follow_module(self.function)
            return
        is_method = self.function.owner is not None and "staticmethod" not in self.function.decorators
        count = len(self.function.node.args.args) - is_method
        flow.follow(self.function, self.bound, [Held()] * max(count, 0), {}, self.mode)


def _roots(index: Index, run: Execution, known: tuple[Trace, ...]) -> Iterator[_Root]:
    found: dict[tuple[object, object, Mode], _Root] = {}
    for root in _all_roots(index, run, known):
        found.setdefault((root.function, id(root.bound) if root.bound else None, root.mode), root)
        if len(found) >= MOST_ROOTS:
            break
    yield from found.values()


def _all_roots(index: Index, run: Execution, known: tuple[Trace, ...]) -> Iterator[_Root]:
    yield from _from_engines(index, run.settings, run, known)
    yield from _from_half_weights(index, known)
    for module in index.modules.values():
        nodes = list(_script_nodes(module))
        opens = any(map(_opens_region, nodes)) or any(map(_casts_to_half, nodes))
        if opens or _is_entered(module, known):
            yield _Root(module, None, Mode())
    seen = _instances(known)
    entered_in = {function for trace in known for function in _functions_of_regions(trace)}
    # What trains comes first: the walk has a budget.
    for function in sorted(index.functions, key=lambda one: one not in entered_in):
        opens = function in entered_in or any(map(_opens_region, own_nodes(function.node)))
        if opens or any("autocast" in name for name in function.decorators):
            yield _Root(function, _bound(run, function, seen), Mode())
    for function in index.functions:
        if any(map(_casts_to_half, own_nodes(function.node))):
            yield _Root(function, _bound(run, function, seen), Mode())


def _script_nodes(module: Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(module.source.tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, FunctionNode | ast.ClassDef):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _opens_region(node: ast.AST) -> bool:
    """Whether a node enters autocast."""
    match node:
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any("autocast" in ast.dump(item.context_expr) for item in items)
    return False


def _casts_to_half(node: ast.AST) -> bool:
    """Whether a node casts a value to half by itself."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in CASTS:
            return True
        case ast.Call(func=ast.Attribute(attr="to" | "type"), args=args, keywords=keywords):
            given = (*args, *(word.value for word in keywords))
            return any((dotted(one) or "").rpartition(".")[2] in HALF_NAMES for one in given)
    return False


def _functions_of_regions(trace: Trace) -> Iterator[Function]:
    for event in trace.events:
        scope = event.scope
        if scope is not None and scope.kind == "with" and event.within and _casts(trace.run, scope):
            yield event.within[-1]


def _is_entered(module: Module, known: tuple[Trace, ...]) -> bool:
    for trace in known:
        if trace.start is module:
            for event in trace.events:
                if not event.within and any(_casts(trace.run, scope) for scope in event.scopes()):
                    return True
    return False


def _casts(run: Execution, scope: Scope) -> bool:
    region = autocast_of(entered_value(run, scope)) if scope.kind == "with" else None
    return region is not None and not region.is_off


def _instances(known: Iterable[Trace]) -> dict[Class, Instance]:
    """The objects that the walks met, one for each class: they were made with what training gives them."""
    found: dict[Class, Instance] = {}
    for trace in known:
        for event in trace.events:
            for value in _values(event):
                for instance in networks(value):
                    if instance.cls not in found or found[instance.cls].open:
                        found[instance.cls] = instance
    return found


def _values(event: Event) -> tuple[Value | None, ...]:
    if isinstance(event, Call):
        return event.receiver, event.callee, *event.args
    return (event.value,) if isinstance(event, Assignment) else ()


def _bound(
    run: Execution, function: Function, seen: Mapping[Class, Instance] = MappingProxyType({})
) -> Value | None:
    if function.owner is None or "staticmethod" in function.decorators:
        return None
    if function.owner in seen and not seen[function.owner].open:
        return seen[function.owner]
    made = made_somewhere(run.index, run, function.owner)
    if made is not None:
        return made
    run.steps = 4_000
    try:
        return run.make(function.owner)
    except (Exhausted, RecursionError):
        return None


# Frameworks that cast by themselves


def _from_engines(
    index: Index, settings: SettingsTree, run: Execution, known: tuple[Trace, ...]
) -> Iterator[_Root]:
    """Networks handed to accelerate, Fabric or apex, and what Lightning's and Hugging Face's loops call."""
    for trace in known:
        for event in trace.events:
            if isinstance(event, Call) and event.name in PREPARING:
                engine = stated(index, trace.run.settings, event.receiver)
                region, weights = engine_autocast(engine), engine_weights(engine)
                for given in event.args if region is not None else ():
                    yield from _networks_in(index, forced(trace.run, given), region, weights)
            if isinstance(event, Call) and event.name in SHARDING and event.args:
                sharded = sharded_weights(index, trace.run.settings, event)
                if sharded is not None:
                    yield from _networks_in(index, event.args[0], None, sharded)
        for cast in initialised(trace.events):
            for network in cast.networks:
                yield from _networks_in(index, forced(trace.run, network), cast.autocast)
    precision = told_precision(index, settings)
    if precision is None:
        return
    seen = _instances(known)
    for called_ in called_by_framework(index, run):
        bound = called_.bound or _bound(run, called_.function, seen)
        if precision.weights is not None:
            yield _Root(called_.function, bound, Mode(None, precision.weights, called_.certain))
        else:
            yield _Root(called_.function, bound, entered(Mode(), within(precision, called_)))


def _networks_in(
    index: Index, value: Value, region: Autocast | None, weights: DType | None = None
) -> Iterator[_Root]:
    if weights is None and (region is None or region.is_off):
        return
    mode = Mode(None, weights) if weights is not None else entered(Mode(), region)
    yield from _passes_of(index, value, mode)


def _passes_of(index: Index, value: Value | None, mode: Mode) -> Iterator[_Root]:
    """The forward passes of a network: of a class of the repository, or of torch's parts around such."""
    for instance in networks(value):
        forward = index.method(instance.cls, "forward")
        if forward is not None:
            yield _Root(forward, instance, mode)
    for option in value.options if isinstance(value, Choice) else (value,):
        if isinstance(option, Applied | Items) and any(_objects_in(option)):
            yield _Root(None, option, mode)


def _objects_in(value: Value | None, depth: int = 4) -> Iterator[Instance]:
    """The objects of the repository's classes inside `nn.Sequential(...)` and what wraps it."""
    match value:
        case Instance():
            yield value
        case Applied(args=inside) | Items(items=inside) if depth:
            for one in inside:
                yield from _objects_in(one, depth - 1)


def sharded_weights(index: Index, settings: SettingsTree, event: Call) -> DType | None:
    """The half type in which FSDP gathers the weights: `MixedPrecisionPolicy(param_dtype=...)`."""
    given = event.keywords.get("mp_policy", event.keywords.get("mixed_precision"))
    policy = stated(index, settings, given)
    if not isinstance(policy, Applied):
        return None
    asked = policy.keywords.get("param_dtype", policy.args[0] if policy.args else None)
    dtype = named_dtype(asked)
    return dtype if dtype in HALVES else None


# Networks whose weights are half


def _from_half_weights(index: Index, known: tuple[Trace, ...]) -> Iterator[_Root]:
    for trace in known:
        for event in trace.events:
            if not isinstance(event, Call) or event.receiver is None:
                continue
            dtype = weights_cast(event, trace.run)
            if dtype is None:
                continue
            yield from _passes_of(index, forced(trace.run, event.receiver), Mode(None, dtype))


def weights_cast(event: Call, run: Execution) -> DType | None:
    """The half type that a call `model.half()` or `model.to(torch.bfloat16)` gives a network's weights."""
    if event.name == "half" and not event.args:
        return DType.FLOAT16
    if event.name == "bfloat16" and not event.args:
        return DType.BFLOAT16
    found = _asked_of(event, run) & HALVES
    return DType.BFLOAT16 if len(found) > 1 else next(iter(found), None)


def may_stay_single(event: Call, run: Execution) -> bool:
    """Whether a cast of weights is to half only under some settings: `model.to(dtype)` of a choice."""
    return DType.FLOAT32 in _asked_of(event, run)


def _asked_of(event: Call, run: Execution) -> frozenset[DType]:
    """The types that a network may be cast to."""
    if event.name not in {"to", "type"}:
        return frozenset()
    given = (*event.args, *(value for key, value in event.keywords.items() if key == "dtype"))
    return frozenset[DType]().union(*(dtypes_of(forced(run, value))[0] for value in given))


def forced(run: Execution, value: Value) -> Value:
    """What a function of the repository gives: a network that it builds, a type that it chooses."""
    if not isinstance(value, Delayed):
        return value
    run.steps = max(run.steps, 1_000)
    try:
        return run.force(value)
    except (Exhausted, RecursionError):
        return value


def half_made(value: Value | None) -> DType | None:
    """The half type of weights that something outside gives: `from_pretrained(..., torch_dtype=...)`."""
    if isinstance(value, Choice):
        found = {half_made(option) for option in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Part) and isinstance(value.key, int):
        return half_made(value.base)
    if isinstance(value, Items | ClassValue | Delayed) or not isinstance(value, Applied):
        return None
    asked = value.keywords.get("torch_dtype", value.keywords.get("dtype"))
    dtype = named_dtype(asked)
    if value.callee.rpartition(".")[2] in {"from_pretrained", "from_config", "from_single_file"}:
        return dtype if dtype in HALVES else None
    return None
