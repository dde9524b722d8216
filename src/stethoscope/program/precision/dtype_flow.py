"""The type of every value in functions that run under autocast, or on half-precision weights.

A `Flow` follows a function statement by statement with one thing in mind: what is the dtype of this value?
Convolutions and matrix products inside a region give half, the operations of autocast's float32 list give
float32, arithmetic gives the wider type, and what is not known stays unknown. Beside the dtype it counts
how many learned layers a value went through since it was last normalised.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stethoscope.program.index import Class, Function, Module, dotted
from stethoscope.program.precision.autocast import HALVES, Autocast, DType, autocast_of, named_dtype
from stethoscope.program.precision.dtype_calls import MOVING
from stethoscope.program.precision.dtype_frames import DEPTH, TypeFrame
from stethoscope.program.precision.entered_modes import Entering
from stethoscope.program.precision.kept_types import is_unknown
from stethoscope.program.precision.plain_numbers import is_number
from stethoscope.program.precision.tensor_types import (
    CASTS,
    NUMBER,
    UNKNOWN,
    Held,
    Mode,
    flat,
    joined,
    layer,
    modules_in,
    operation,
    table_of,
)
from stethoscope.program.settings.declared_options import field_names
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.frames import Frame
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    PartialValue,
    Site,
    Value,
    choice,
)

STEPS = 200_000  # nodes visited for one program
MOST_ELEMENTS = 8  # of a ModuleList that a loop visits
OBJECT_STEPS = 4_000  # for looking up one attribute of an object
COUNTED = ("arange", "randint", "long", "int64", "int32", "bool")  # in buffers that hold no floating numbers


@dataclass(slots=True, eq=False)
class Noted:
    """What was seen at an expression, over all the ways it was reached."""

    dtypes: set[DType] = field(default_factory=set)
    modes: set[Mode] = field(default_factory=set)
    layers: int = 0
    number: float | None = None
    sure: bool = False  # whether the type was followed on some way

    def is_half(self, dtype: DType = DType.FLOAT16) -> bool:
        """Whether the value was of this half type on some way."""
        return dtype in self.dtypes


class Flow:
    """One walk over all functions that run in half precision; `noted` holds what each expression was."""

    def __init__(
        self,
        run: Execution,
        contexts: Mapping[int, Value],
        callees: Mapping[int, Value],
        others: Sequence[Execution] = (),
    ) -> None:
        self.run = run
        self.others = others  # the walks that made objects met here: each can look into its own
        self._looked_into: set[Instance] = set()
        self.contexts = contexts  # what a `with` enters, by its expression
        self.callees = callees  # what a call leads to, by its expression
        self.noted: dict[ast.expr, Noted] = {}
        self.lowered: set[ast.expr] = set()  # what autocast runs in half, whatever it gets
        self.functions: dict[Function | Module, None] = {}
        self.reached: dict[ast.expr, set[Function]] = {}  # the functions that each call leads to
        self.left = 0
        self._rest = STEPS
        self._object_steps = budget(run.index, OBJECT_STEPS)
        self._known: dict[object, Held] = {}
        self.depth = 0
        self._buffers: dict[Class, frozenset[str]] = {}

    def begin(self, most: int) -> None:
        """Begin a walk of at most so many nodes, out of those left for the program."""
        self._rest += max(self.left, 0)
        self.left = min(most, self._rest)
        self._rest -= self.left

    def follow(
        self,
        function: Function,
        bound: Value | None,
        args: Sequence[Held],
        keywords: Mapping[str, Held],
        mode: Mode,
    ) -> Held:
        """The result of a function of the repository."""
        key = (function, _signature(bound), tuple(map(_key, args)), _keys(keywords), mode)
        if key in self._known:
            return self._known[key]
        self._known[key] = UNKNOWN  # while it is being followed
        if self.depth >= DEPTH or self.left <= 0:
            return UNKNOWN
        if self.depth and not _is_about_half(mode, (*args, *keywords.values())):
            return UNKNOWN  # what opens a region or casts by itself begins a walk of its own
        self.functions[function] = None
        module = self.run.index.module_of(function.source)
        names = self._parameters(function, bound, args, keywords)
        for entered in self._decorators(function, module):
            mode, names = entered(mode, names)
        frame = TypeFrame(self, module, names, mode, function.owner)
        self.depth += 1
        try:
            frame.block(function.node.body)
        finally:
            self.depth -= 1
        result = joined(frame.returned) if frame.returned else NUMBER
        if _is_norm_name(
            function.owner.name if function.owner and function.name == "forward" else function.name
        ):
            result = replace(result, layers=0)
        self._known[key] = result
        return result

    def follow_module(self, module: Module) -> None:
        """Follow the statements of a script."""
        self.functions[module] = None
        own = [node for node in module.source.tree.body if not isinstance(node, FunctionNode)]
        TypeFrame(self, module, {}, Mode(), None).block(own)

    def call(
        self, callee: Value | None, args: Sequence[Held], keywords: Mapping[str, Held], mode: Mode
    ) -> Held:
        """The result of calling an object that is known."""
        callee = self.settled(callee)
        match callee:
            case FunctionValue(function=function, bound=bound):
                return self.follow(function, bound, args, keywords, mode)
            case Instance(cls=cls):
                method = self.run.index.method(cls, "forward") or self.run.index.method(cls, "__call__")
                if method is not None:
                    return self.follow(method, callee, args, keywords, mode)
            case Choice(options=options):
                return joined([self.call(option, args, keywords, mode) for option in options[:MOST_ELEMENTS]])
            case PartialValue(callee=inner):
                return self.call(inner, args, keywords, mode)
            case Applied(callee=name, args=[inner, *given]) if name.removeprefix(".") in MOVING:
                dtypes = [named_dtype(one) for one in (*given, *callee.keywords.values())]
                dtype = CASTS.get(name[1:]) or next((one for one in dtypes if one is not None), None)
                return self.call(inner, args, keywords, replace(mode, weights=dtype) if dtype else mode)
            case Applied(callee=name, args=inside) if name.rpartition(".")[2] == "Sequential":
                return self._chain([item for arg in inside for item in modules_in(arg)], args, mode)
            case Applied() | Part() if (wrapped := self._wrapped(callee)) is not None:
                return self.call(wrapped, args, keywords, mode)
            case Applied():
                return layer(callee, args, keywords, mode)
            case Outside(name=name):
                return operation(name.rpartition(".")[2], name, args, keywords, mode)
            case Items(items=items):
                return self._chain(items, args, mode)
            case ClassValue(cls=cls):
                return replace(self._record(cls, args, keywords), value=self._construct(cls, args))
        return UNKNOWN

    def _wrapped(self, callee: Value) -> Value | None:
        """The network inside `DDP(net)`, `torch.compile(net)` or what an engine gave back for it."""
        inside = networks(callee)
        return None if any(one is callee for one in inside) or not inside else choice(*inside)

    def _chain(self, items: Sequence[Value], args: Sequence[Held], mode: Mode) -> Held:
        held = args[0] if args else UNKNOWN
        for item in items:
            held = self.call(item, [held], {}, mode)
        return held

    def attribute(self, base: Value, name: str, site: Site) -> Value | None:
        """An attribute of an object, None where that takes too long."""
        self.run.steps = self._object_steps
        try:
            self._look_into(base)
            return self.settled(self.run.attribute(base, name, site))
        except (Exhausted, RecursionError):
            return None

    def settled(self, value: Value | None) -> Value | None:
        """The object that a function of the repository builds: `self.head = mlp(64, 128, 10)`."""
        if not isinstance(value, Delayed):
            return value
        self.run.steps = self._object_steps
        try:
            return self.run.force(value)
        except (Exhausted, RecursionError):
            return value

    def _look_into(self, base: Value) -> None:
        if not isinstance(base, Instance) or base in self._looked_into:
            return
        self._looked_into.add(base)
        for other in self.others:
            other.steps = self._object_steps
            other.initialise(base)

    def buffers(self, cls: Class) -> frozenset[str]:
        """The tensors that a network keeps beside its weights: `self.register_buffer("window", ...)`."""
        if cls not in self._buffers:
            self._buffers[cls] = frozenset(
                str(node.args[0].value)
                for ancestor in self.run.index.lineage(cls)
                for node in all_nodes(ancestor.node, ast.Call)
                if isinstance(node.func, ast.Attribute)
                and node.func.attr == "register_buffer"
                and len(node.args) > 1
                and isinstance(node.args[0], ast.Constant)
                and not any(name in ast.dump(node.args[1]) for name in COUNTED)
            )
        return self._buffers[cls]

    def evaluate(self, node: ast.expr, module: Module) -> Value | None:
        """What an expression of names from a module's top level stands for."""
        self.run.steps = self._object_steps
        try:
            return self.run.evaluate(node, Frame(module, {}))
        except (Exhausted, RecursionError):
            return None

    def elements(self, value: Value) -> list[Value]:
        """What a loop over an object visits."""
        if isinstance(value, Items):
            return value.items[:MOST_ELEMENTS]
        if isinstance(value, Choice):  # lists of the same kind, more often than not
            return max((self.elements(option) for option in value.options), key=len, default=[])
        table = table_of(value)
        if table is not None:
            return [*table.entries.values(), *table.rest][:MOST_ELEMENTS]
        if isinstance(value, Applied) and value.callee.endswith(("Sequential", "ModuleList")):
            return [item for arg in value.args for item in modules_in(arg)][:MOST_ELEMENTS]
        return []

    def visited(self, over: Held) -> Iterator[Held]:
        """What a loop over a value visits."""
        table = table_of(over.value) if over.value is not None else None
        if over.items is not None:
            yield from over.items
        elif table is not None:  # its keys
            yield from (
                Held(DType.NUMBER, value=Constant(key)) for key in list(table.entries)[:MOST_ELEMENTS]
            )
        elif over.value is not None:
            yield from (Held(value=element) for element in self.elements(over.value))
        elif over.dtype in HALVES | {DType.FLOAT32}:
            yield Held(over.dtype, over.layers)

    def note(self, node: ast.expr, held: Held, mode: Mode) -> None:
        """Remember what an expression was."""
        noted = self.noted.setdefault(node, Noted())
        noted.dtypes.add(held.dtype)
        noted.modes.add(mode)
        noted.layers = max(noted.layers, held.layers)
        noted.sure = noted.sure or (held.sure and held.dtype in HALVES)
        if isinstance(held.value, Constant) and isinstance(held.value.value, int | float):
            noted.number = float(held.value.value)

    def note_reached(self, node: ast.expr, callee: Value | None) -> None:
        """Remember the function of the repository that a call leads to."""
        match callee:
            case FunctionValue(function=function):
                self.reached.setdefault(node, set()).add(function)
            case Instance(cls=cls):
                forward = self.run.index.method(cls, "forward")
                if forward is not None:
                    self.reached.setdefault(node, set()).add(forward)
            case Choice(options=options):
                for option in options:
                    self.note_reached(node, option)

    def _construct(self, cls: Class, args: Sequence[Held]) -> Value | None:
        self.run.steps = self._object_steps
        try:
            return self.run.construct(cls, [held.value or Leaf("argument") for held in args], {}, open_=True)
        except (Exhausted, RecursionError):
            return None

    def _record(self, cls: Class, args: Sequence[Held], keywords: Mapping[str, Held]) -> Held:
        """What the fields of a record are: `Outputs(logits=x, features=y)`; in order, of a named tuple."""
        if self.run.index.method(cls, "__init__") is not None:
            return UNKNOWN
        fields = [name for one in reversed(self.run.index.lineage(cls)) for name in field_names(one)]
        given = dict(zip(fields, args, strict=False))
        given.update({name: held for name, held in keywords.items() if name in fields})
        if not given:
            return UNKNOWN
        is_tuple = any(base.endswith("NamedTuple") for base in self.run.index.outside_bases(cls))
        items = tuple(given[name] for name in fields if name in given) if is_tuple else None
        return Held(items=items, entries=tuple(given.items()))

    def _parameters(
        self, function: Function, bound: Value | None, args: Sequence[Held], keywords: Mapping[str, Held]
    ) -> dict[str, Held]:
        spec = function.node.args
        positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        is_method = function.owner is not None and "staticmethod" not in function.decorators
        given = [Held(value=bound), *args] if is_method or bound is not None else list(args)
        names = dict(zip(positional, given, strict=False))
        if spec.vararg is not None:
            rest = tuple(given[len(positional) :])
            names[spec.vararg.arg] = Held(items=rest or None)
        names.update({name: held for name, held in keywords.items() if name in function.parameters})
        defaults = dict(zip(reversed(positional), reversed(spec.defaults), strict=False))
        named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        defaults |= {arg.arg: default for arg, default in named if default is not None}
        for name, default in defaults.items():
            if name not in names and isinstance(default, ast.Constant):
                names[name] = Held(DType.NUMBER, value=Constant(default.value))
            elif name not in names and isinstance(default, ast.Name | ast.Attribute):
                value = self.evaluate(default, self.run.index.module_of(function.source))
                names[name] = Held(DType.NUMBER, value=value) if isinstance(value, Constant) else UNKNOWN
        for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            if is_unknown(names.get(arg.arg, UNKNOWN)) and is_number(arg):
                names[arg.arg] = NUMBER
        return names

    def _decorators(self, function: Function, module: Module) -> Iterator[Entering]:
        for decorator in function.node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            written = dotted(call.func if call else decorator) or ""
            last = written.rpartition(".")[2]
            if last == "autocast":
                called = call or ast.copy_location(ast.Call(decorator, [], []), decorator)
                yield Entering(autocast_of(self.evaluate(called, module)), None)
            elif last in {"custom_fwd", "float32_input", "force_fp32"}:
                keywords = {keyword.arg: keyword.value for keyword in call.keywords} if call else {}
                cast = keywords.get("cast_inputs")
                dtype = named_dtype(self.evaluate(cast, module)) if cast is not None else None
                if dtype is not None or last == "force_fp32":
                    yield Entering(Autocast(frozenset(), False), dtype or DType.FLOAT32)


def _is_about_half(mode: Mode, given: Iterable[Held]) -> bool:
    """Whether half precision can be met inside a function."""
    if mode.half is not None or mode.weights in HALVES:
        return True
    held = [part for one in given for part in (one, *(inner for _, inner in one.entries or ()))]
    return any(part.dtype in HALVES for one in held for part in flat(one))


def _is_norm_name(name: str) -> bool:
    return "norm" in name.lower()


def _key(held: Held) -> object:
    value = id(held.value) if held.value is not None and not isinstance(held.value, Constant) else None
    known = held.value.value if isinstance(held.value, Constant) else None
    plain = known if isinstance(known, str | int | float | bool | None) else None
    items = tuple(map(_key, held.items)) if held.items else None
    entries = tuple((name, _key(one)) for name, one in held.entries) if held.entries else None
    return held.dtype, held.layers, value, plain, items, entries, held.sure


def _keys(keywords: Mapping[str, Held]) -> object:
    return tuple(sorted((name, str(_key(held))) for name, held in keywords.items()))


def _signature(bound: Value | None) -> object:
    """What tells objects of one class apart: the switches, names and classes they were made with."""
    if not isinstance(bound, Instance):
        return id(bound) if bound is not None else None
    made = []
    for name, value in bound.made_with.items():
        match value:
            case Constant(value=bool() | str() as known):
                made.append((name, str(known)))
            case ClassValue(cls=cls):
                made.append((name, cls.qualified))
            case Outside(name=full):
                made.append((name, full))
    return bound.cls, tuple(made)
