"""Where half precision begins: regions, casts, half weights, and what frameworks run in half."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.precision.apex import initialised
from stethoscope.program.precision.autocast import (
    Autocast,
    DType,
    autocast_of,
    engine_autocast,
    engine_weights,
)
from stethoscope.program.precision.called_objects import Handed, handed_over
from stethoscope.program.precision.dtype_flow import Flow
from stethoscope.program.precision.entered_modes import entered
from stethoscope.program.precision.framework_precision import (
    called_by_framework,
    made_somewhere,
    networks_handed_over,
    told_precision,
    within,
)
from stethoscope.program.precision.half_weights import forced, sharded_weights, weights_cast
from stethoscope.program.precision.kept_types import held_of
from stethoscope.program.precision.loop_precision import entered_value, networks
from stethoscope.program.precision.tensor_types import Held, Mode
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import FunctionNode, children, own_nodes
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Choice, Instance, Items, Value

MOST_ROOTS = 400  # functions that begin a walk
ROOT_STEPS = 40_000  # nodes visited from one of them
CASTS = frozenset({"half", "bfloat16"})
PREPARING = frozenset({"prepare", "prepare_model", "setup", "setup_module", "setup_model"})
SHARDING = frozenset({"fully_shard", "FSDP", "FullyShardedDataParallel"})
HALF_NAMES = frozenset({"float16", "bfloat16", "half"})


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """A function, the object it is bound to, and the mode it begins in; or a network of torch's parts."""

    function: Function | Module | None
    bound: Value | None
    mode: Mode
    handed: Handed | None = None  # what it is called with, where a walk saw that

    def follow(self, flow: Flow) -> None:
        """Follow the function with the objects it is called with; nothing is known of the tensors."""
        flow.begin(ROOT_STEPS)
        if self.function is None:
            flow.call(self.bound, [Held()], {}, self.mode)
            return
        if isinstance(self.function, Module):
            flow.follow_module(self.function)
            return
        is_method = self.function.owner is not None and "staticmethod" not in self.function.decorators
        count = len(self.function.node.args.args) - is_method
        args = [Held()] * max(count, 0)
        keywords: dict[str, Held] = {}
        if self.handed is not None:
            known = [held_of(one, self.mode) for one in self.handed.args]
            args = [*known, *args[len(known) :]]
            keywords = {key: held_of(one, self.mode) for key, one in self.handed.keywords}
        flow.follow(self.function, self.bound, args, keywords, self.mode)


def roots(index: Index, run: Execution, known: tuple[Trace, ...]) -> Iterator[Root]:
    """The functions from which half precision is followed, those that train first."""
    found: dict[tuple[object, object, Mode], Root] = {}
    for root in _all_roots(index, run, known):
        found.setdefault((root.function, id(root.bound) if root.bound else None, root.mode), root)
        if len(found) >= MOST_ROOTS:
            break
    handed = handed_over(known)
    for root in found.values():
        yield from _as_called(root, handed)


def _as_called(root: Root, handed: Mapping[Function, tuple[Handed, ...]]) -> Iterator[Root]:
    """A beginning with what the walks saw its function be called with, once for each way."""
    calls = handed.get(root.function, ()) if isinstance(root.function, Function) else ()
    for call in calls:
        yield replace(root, bound=call.bound or root.bound, handed=call)
    if not calls:
        yield root


def _all_roots(index: Index, run: Execution, known: tuple[Trace, ...]) -> Iterator[Root]:
    yield from _from_engines(index, run.settings, run, known)
    yield from _from_half_weights(index, known)
    for module in index.modules.values():
        nodes = list(_script_nodes(module))
        opens = any(map(_opens_region, nodes)) or any(map(_casts_to_half, nodes))
        if opens or _is_entered(module, known):
            yield Root(module, None, Mode())
    seen = _instances(known)
    entered_in = {function for trace in known for function in _functions_of_regions(trace)}
    # What trains comes first: the walk has a budget.
    for function in sorted(index.functions, key=lambda one: one not in entered_in):
        opens = function in entered_in or any(
            map(_opens_region, own_nodes(function.node, ast.With, ast.AsyncWith))
        )
        if opens or any("autocast" in name for name in function.decorators):
            yield Root(function, _bound(run, function, seen), Mode())
    for function in index.functions:
        if any(map(_casts_to_half, own_nodes(function.node, ast.Call))):
            yield Root(function, _bound(run, function, seen), Mode())


def _script_nodes(module: Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(module.source.tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, FunctionNode | ast.ClassDef):
            yield node
            waiting.extend(children(node))


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
        elif isinstance(event, Call) and event.name == "enter_context" and event.args and event.within:
            region = autocast_of(forced(trace.run, event.args[0]))
            if region is not None and not region.is_off:
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


def _from_engines(
    index: Index, settings: SettingsTree, run: Execution, known: tuple[Trace, ...]
) -> Iterator[Root]:
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
    mode = (
        Mode(None, precision.weights)
        if precision.weights is not None
        else entered(Mode(), within(precision, None))
    )
    for network in networks_handed_over(index, run):
        if isinstance(network, Applied):
            yield from _passes_of(index, network, mode)
    seen = _instances(known)
    for called_ in called_by_framework(index, run):
        bound = called_.bound or _bound(run, called_.function, seen)
        if precision.weights is not None:
            yield Root(called_.function, bound, Mode(None, precision.weights, called_.certain))
        else:
            yield Root(called_.function, bound, entered(Mode(), within(precision, called_)))


def _networks_in(
    index: Index, value: Value, region: Autocast | None, weights: DType | None = None
) -> Iterator[Root]:
    if weights is None and (region is None or region.is_off):
        return
    mode = Mode(None, weights) if weights is not None else entered(Mode(), region)
    yield from _passes_of(index, value, mode)


def _passes_of(index: Index, value: Value | None, mode: Mode) -> Iterator[Root]:
    """The forward passes of a network: of a class of the repository, or of torch's parts around such."""
    for instance in networks(value):
        forward = index.method(instance.cls, "forward")
        if forward is not None:
            yield Root(forward, instance, mode)
    for option in value.options if isinstance(value, Choice) else (value,):
        if isinstance(option, Applied | Items) and any(_objects_in(option)):
            yield Root(None, option, mode)


def _objects_in(value: Value | None, depth: int = 4) -> Iterator[Instance]:
    """The objects of the repository's classes inside `nn.Sequential(...)` and what wraps it."""
    match value:
        case Instance():
            yield value
        case Applied(args=inside) | Items(items=inside) if depth:
            for one in inside:
                yield from _objects_in(one, depth - 1)


def _from_half_weights(index: Index, known: tuple[Trace, ...]) -> Iterator[Root]:
    for trace in known:
        for event in trace.events:
            if not isinstance(event, Call) or event.receiver is None:
                continue
            dtype = weights_cast(event, trace.run)
            if dtype is None:
                continue
            yield from _passes_of(index, forced(trace.run, event.receiver), Mode(None, dtype))
