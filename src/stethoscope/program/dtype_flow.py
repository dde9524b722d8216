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

from stethoscope.program.autocast import HALVES, Autocast, DType, autocast_of, named_dtype
from stethoscope.program.autocast_lists import LOWER
from stethoscope.program.execution import Execution, Exhausted, Frame
from stethoscope.program.index import Class, External, Function, FunctionNode, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.plain_numbers import is_number, is_setting, names_number, names_tensor
from stethoscope.program.stated_options import stated
from stethoscope.program.tensor_types import (
    CASTS,
    CREATING,
    MOST_LAYERS,
    NUMBER,
    UNKNOWN,
    Held,
    Mode,
    cast_type,
    flat,
    is_callable,
    joined,
    layer,
    lowers,
    modules_in,
    most_layers,
    network_output,
    operation,
    part_at,
    promoted,
)
from stethoscope.program.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    PartialValue,
    Site,
    Table,
    Value,
)

STEPS = 200_000  # nodes visited for one program
DEPTH = 24
MOST_ELEMENTS = 8  # of a ModuleList that a loop visits
OBJECT_STEPS = 4_000  # for looking up one attribute of an object

UNARY_ATTRIBUTES = frozenset({"T", "mT", "H", "real", "imag", "data", "grad", "values"})
MOVING = frozenset(
    {"cuda", "cpu", "to", "train", "eval", "half", "bfloat16", "float", "requires_grad_", "apply"}
)
WRAPPING = frozenset(
    {"compile", "script", "trace", "deepcopy", "FSDP", "fully_shard", "convert_sync_batchnorm"}
)
# What people call a network, and the fields of what networks of others give.
NETWORK_WORDS = frozenset(
    {"model", "net", "network", "backbone", "encoder", "decoder", "student", "unet", "trunk"}
)
OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output", "sample", "image_embeds", "text_embeds"})
ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "**", "%", "neg"})
METHODS_OF_PARTS = frozenset(
    {".view", ".reshape", ".unsqueeze", ".squeeze", ".expand", ".clone", ".float", "max", "min"}
)
COUNTED = ("arange", "randint", "long", "int64", "int32", "bool")  # in buffers that hold no floating numbers
SHAPE_ATTRIBUTES = frozenset({"shape", "ndim", "device", "requires_grad", "is_cuda", "itemsize"})


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
        self._known: dict[object, Held] = {}
        self._depth = 0
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
        if self._depth >= DEPTH or self.left <= 0:
            return UNKNOWN
        if self._depth and not _is_about_half(mode, (*args, *keywords.values())):
            return UNKNOWN  # what opens a region or casts by itself begins a walk of its own
        self.functions[function] = None
        module = self.run.index.module_of(function.source)
        names = self._parameters(function, bound, args, keywords)
        for entered in self._decorators(function, module):
            mode, names = entered(mode, names)
        frame = _Frame(self, module, names, mode, function.owner)
        self._depth += 1
        try:
            frame.block(function.node.body)
        finally:
            self._depth -= 1
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
        _Frame(self, module, {}, Mode(), None).block(own)

    def call(
        self, callee: Value | None, args: Sequence[Held], keywords: Mapping[str, Held], mode: Mode
    ) -> Held:
        """The result of calling an object that is known."""
        match callee:
            case FunctionValue(function=function, bound=bound):
                return self.follow(function, bound, args, keywords, mode)
            case Instance(cls=cls):
                method = self.run.index.method(cls, "forward") or self.run.index.method(cls, "__call__")
                if method is not None:
                    return self.follow(method, callee, args, keywords, mode)
            case Choice(options=options):
                return joined([self.call(option, args, keywords, mode) for option in options[:4]])
            case PartialValue(callee=inner):
                return self.call(inner, args, keywords, mode)
            case Applied(callee=name, args=[inner, *given]) if name.removeprefix(".") in MOVING:
                dtypes = [named_dtype(one) for one in (*given, *callee.keywords.values())]
                dtype = CASTS.get(name[1:]) or next((one for one in dtypes if one is not None), None)
                return self.call(inner, args, keywords, replace(mode, weights=dtype) if dtype else mode)
            case Applied(callee=name, args=inside) if name.rpartition(".")[2] == "Sequential":
                return self._chain([item for arg in inside for item in modules_in(arg)], args, mode)
            case Applied():
                return layer(callee, args, keywords, mode)
            case Outside(name=name):
                return operation(name.rpartition(".")[2], name, args, keywords, mode)
            case Items(items=items):
                return self._chain(items, args, mode)
            case ClassValue(cls=cls):
                return Held(value=self._construct(cls, args))
        return UNKNOWN

    def _chain(self, items: Sequence[Value], args: Sequence[Held], mode: Mode) -> Held:
        held = args[0] if args else UNKNOWN
        for item in items:
            held = self.call(item, [held], {}, mode)
        return held

    def attribute(self, base: Value, name: str, site: Site) -> Value | None:
        """An attribute of an object, None where that takes too long."""
        self.run.steps = OBJECT_STEPS
        try:
            self._look_into(base)
            return self.run.attribute(base, name, site)
        except (Exhausted, RecursionError):
            return None

    def _look_into(self, base: Value) -> None:
        if not isinstance(base, Instance) or base in self._looked_into:
            return
        self._looked_into.add(base)
        for other in self.others:
            other.steps = OBJECT_STEPS
            other.initialise(base)

    def buffers(self, cls: Class) -> frozenset[str]:
        """The tensors that a network keeps beside its weights: `self.register_buffer("window", ...)`."""
        if cls not in self._buffers:
            self._buffers[cls] = frozenset(
                str(node.args[0].value)
                for ancestor in self.run.index.lineage(cls)
                for node in ast.walk(ancestor.node)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "register_buffer"
                and len(node.args) > 1
                and isinstance(node.args[0], ast.Constant)
                and not any(name in ast.dump(node.args[1]) for name in COUNTED)
            )
        return self._buffers[cls]

    def evaluate(self, node: ast.expr, module: Module) -> Value | None:
        """What an expression of names from a module's top level stands for."""
        self.run.steps = OBJECT_STEPS
        try:
            return self.run.evaluate(node, Frame(module, {}))
        except (Exhausted, RecursionError):
            return None

    def elements(self, value: Value) -> list[Value]:
        """What a loop over an object visits."""
        if isinstance(value, Items):
            return value.items[:MOST_ELEMENTS]
        if isinstance(value, Table):
            return list(value.entries.values())[:MOST_ELEMENTS]
        if isinstance(value, Applied) and value.callee.endswith(("Sequential", "ModuleList")):
            return [item for arg in value.args for item in modules_in(arg)][:MOST_ELEMENTS]
        return []

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
        self.run.steps = OBJECT_STEPS
        try:
            return self.run.construct(cls, [held.value or Leaf("argument") for held in args], {}, open_=True)
        except (Exhausted, RecursionError):
            return None

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
            if _is_open(names.get(arg.arg, UNKNOWN)) and is_number(arg):
                names[arg.arg] = NUMBER
        return names

    def _decorators(self, function: Function, module: Module) -> Iterator[_Entering]:
        for decorator in function.node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            written = dotted(call.func if call else decorator) or ""
            last = written.rpartition(".")[2]
            if last == "autocast":
                called = call or ast.copy_location(ast.Call(decorator, [], []), decorator)
                yield _Entering(autocast_of(self.evaluate(called, module)), None)
            elif last in {"custom_fwd", "float32_input", "force_fp32"}:
                keywords = {keyword.arg: keyword.value for keyword in call.keywords} if call else {}
                cast = keywords.get("cast_inputs")
                dtype = named_dtype(self.evaluate(cast, module)) if cast is not None else None
                if dtype is not None or last == "force_fp32":
                    yield _Entering(Autocast(frozenset(), False), dtype or DType.FLOAT32)


@dataclass(frozen=True, slots=True)
class _Entering:
    """What a decorator does before its function begins."""

    region: Autocast | None
    cast: DType | None

    def __call__(self, mode: Mode, names: dict[str, Held]) -> tuple[Mode, dict[str, Held]]:
        if self.cast is not None:
            cast = self.cast
            names = {
                name: replace(held, dtype=cast) if held.dtype in HALVES | {DType.UNKNOWN} else held
                for name, held in names.items()
            }
        return entered(mode, self.region), names


def entered(mode: Mode, region: Autocast | None) -> Mode:
    """The mode inside a region."""
    if region is None:
        return mode
    if region.is_off:
        return replace(mode, half=None)
    dtypes = region.dtypes & HALVES
    if not dtypes:  # a type that could not be resolved
        return replace(mode, half=DType.FLOAT16, certain=False)
    half = DType.FLOAT16 if DType.FLOAT16 in dtypes else DType.BFLOAT16
    return replace(mode, half=half, certain=mode.certain and region.known and len(dtypes) == 1)


class _Frame:
    """One function being followed."""

    def __init__(
        self, flow: Flow, module: Module, names: dict[str, Held], mode: Mode, cls: Class | None
    ) -> None:
        self.flow = flow
        self.module = module
        self.names = names
        self.mode = mode
        self.cls = cls
        self.returned: list[Held] = []
        self.local: dict[str, FunctionNode] = {}

    # Statements: each block says whether it falls through

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements in order."""
        return all(self._statement(statement) for statement in body)

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Return(value=value):
                self.returned.append(self.evaluate(value) if value is not None else NUMBER)
                return False
            case ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Assign(targets=targets, value=value):
                held = self.evaluate(value)
                for target in targets:
                    self._assign(target, held)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, self.evaluate(value))
            case ast.AugAssign(target=target, value=value):
                # In place: the type of what is changed stays.
                before, after = self.evaluate(target), self.evaluate(value)
                layers = max(before.layers, after.layers)
                if isinstance(node.op, ast.Mult) and DType.NUMBER not in {before.dtype, after.dtype}:
                    layers = min(before.layers + after.layers, MOST_LAYERS)
                self._assign(target, Held(before.dtype, layers, sure=before.sure))
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While(test=test, body=body):
                self.evaluate(test)
                self._branches([body, []])
            case ast.With() | ast.AsyncWith():
                return self._with(node)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                falls = self._branches([[*body, *orelse], *(handler.body for handler in handlers)])
                return self.block(final) and falls
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.local[node.name] = node
        return True

    def _expression(self, node: ast.expr) -> None:
        held = self.evaluate(node)
        match node:
            # `x.float_()`, `model.half()`: a module changes in place, a tensor does not.
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr.endswith("_"):
                if name in self.names:
                    self.names[name] = replace(self.names[name], layers=held.layers)

    def _if(self, node: ast.If) -> bool:
        tested = self.evaluate(node.test).value
        known = tested.value if isinstance(tested, Constant) else None
        if isinstance(known, bool):
            return self.block(node.body if known else node.orelse)
        return self._branches([node.body, node.orelse])

    def _branches(self, blocks: Iterable[Sequence[ast.stmt]]) -> bool:
        before = self.names
        ends: list[dict[str, Held]] = []
        for block in blocks:
            self.names = dict(before)
            if self.block(block):
                ends.append(self.names)
        names = {name for end in ends for name in end}
        self.names = (
            {name: joined([end[name] for end in ends if name in end]) for name in names} if ends else before
        )
        return bool(ends)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self.evaluate(node.iter)
        # Twice over: what the first round leaves is what the second begins with.
        elements = list(_elements(self.flow, over)) or [UNKNOWN if over.items is None else over]
        for element in elements if len(elements) > 1 else elements * 2:
            self._assign(node.target, element)
            self._branches([node.body, []]) if len(elements) == 1 else self.block(node.body)
        self.block(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
        before = self.mode
        for item in node.items:
            self.mode = entered(self.mode, self._region(item.context_expr))
        falls = self.block(node.body)
        self.mode = before
        return falls

    def _region(self, node: ast.expr) -> Autocast | None:
        value = self.flow.contexts.get(id(node))
        region = autocast_of(value)
        if region is not None:
            return region
        made = self.evaluate(node).value
        return autocast_of(stated(self.flow.run.index, self.flow.run.settings, made))

    def _assign(self, target: ast.expr, held: Held) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = held
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for position, element in enumerate(elements):
                    self._assign(element, part_at(held, position))
            case ast.Starred(value=inner):
                self._assign(inner, held)

    # Expressions

    def evaluate(self, node: ast.expr) -> Held:
        """What is known of an expression's value."""
        self.flow.left -= 1
        if self.flow.left <= 0:
            return UNKNOWN
        held = self._evaluate(node)
        self.flow.note(node, held, self.mode)
        return held

    def _evaluate(self, node: ast.expr) -> Held:
        match node:
            case ast.Constant(value=value):
                return Held(DType.NUMBER, value=Constant(value))
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.MatMult) and self.mode.half is not None:
                    self.flow.lowered.add(node)
                return self._binary(self.evaluate(left), op, self.evaluate(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                tested = self.evaluate(operand).value
                known = tested.value if isinstance(tested, Constant) else None
                return Held(DType.NUMBER, value=Constant(not known) if isinstance(known, bool) else None)
            case ast.UnaryOp(op=op, operand=operand):
                held = self.evaluate(operand)
                if isinstance(held.value, Constant) and isinstance(held.value.value, int | float):
                    sign = -1 if isinstance(op, ast.USub) else 1
                    return Held(DType.NUMBER, value=Constant(sign * held.value.value))
                return replace(held, value=None)
            case ast.BoolOp(values=values):
                return joined([self.evaluate(value) for value in values])
            case ast.Compare(left=left, comparators=others):
                for part in (left, *others):
                    self.evaluate(part)
                return NUMBER
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.evaluate(test)
                return joined([self.evaluate(body), self.evaluate(orelse)])
            case ast.Subscript(value=base, slice=key):
                return self._subscript(self.evaluate(base), key)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = tuple(map(self.evaluate, elements))
                return Held(promoted(one.dtype for one in parts), most_layers(parts), parts)
            case (
                ast.ListComp(elt=element, generators=generators)
                | ast.SetComp(elt=element, generators=generators)
                | ast.GeneratorExp(elt=element, generators=generators)
                | ast.DictComp(value=element, generators=generators)
            ):
                return self._comprehension(element, generators)
            case ast.NamedExpr(target=target, value=value):
                held_value = self.evaluate(value)
                self._assign(target, held_value)
                return held_value
            case ast.Starred(value=value):
                return self.evaluate(value)
            case ast.Dict(keys=keys, values=values):
                return _named(list(map(_text, keys)), list(map(self.evaluate, values)))
        return UNKNOWN

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> Held:
        before = dict(self.names)
        over = self.evaluate(generators[0].iter)
        found = []
        for one in list(_elements(self.flow, over)) or [UNKNOWN]:
            self._assign(generators[0].target, one)
            found.append(self.evaluate(element))
        self.names = before
        held = joined(found)
        return Held(held.dtype, held.layers, tuple(found))

    def _name(self, node: ast.Name, name: str) -> Held:
        if name in self.names:
            return self.names[name]
        value = self.flow.evaluate(node, self.module)
        return _held(value, self.mode)

    def _hyperparameter(self, node: ast.Attribute) -> Held | None:
        """`self.hparams.eps`: the constructor's argument, which Lightning keeps."""
        match node.value:
            case ast.Attribute(value=ast.Name(id=name), attr="hparams") if name in self.names:
                made = self.names[name].value
                if not isinstance(made, Instance):
                    return None
                init = self.flow.run.index.method(made.cls, "__init__")
                default = _default_of(init, node.attr) if init is not None else None
                given = made.made_with.get(node.attr)
                known = given if isinstance(given, Constant) else default
                return Held(DType.NUMBER, value=known) if known is not None else None
        return None

    def _attribute(self, node: ast.Attribute) -> Held:
        kept = self._hyperparameter(node)
        if kept is not None:
            return kept
        base = self.evaluate(node.value)
        if node.attr == "dtype" and base.value is None:
            known = base.dtype in HALVES or base.dtype is DType.FLOAT32
            return Held(value=Outside(f"torch.{base.dtype}") if known else None)
        if node.attr in SHAPE_ATTRIBUTES and not isinstance(base.value, Instance):
            return NUMBER
        if isinstance(base.value, Instance | Outside | Choice | ClassValue | Table):
            site = Site(self.module.source, node)
            if isinstance(base.value, Instance) and node.attr in self.flow.buffers(base.value.cls):
                return Held(self.mode.weights)
            held = _held(self.flow.attribute(base.value, node.attr, site), self.mode)
            if not _is_open(held):
                return held
            if is_setting(node) or names_number(node.attr):
                return NUMBER
            # What an object keeps of its constructor's arguments is a number, more often than not.
            is_kept = isinstance(base.value, Instance) and not names_tensor(node.attr)
            return replace(held, dtype=DType.NUMBER, sure=False) if is_kept else held
        if node.attr in UNARY_ATTRIBUTES:
            return replace(base, value=None)
        if node.attr in OUTPUTS and base.dtype in HALVES:
            return replace(base, items=None)
        return NUMBER if is_setting(node) else UNKNOWN

    def _subscript(self, base: Held, key: ast.expr) -> Held:
        index = self.evaluate(key)
        if (
            base.items is not None
            and isinstance(index.value, Constant)
            and isinstance(index.value.value, int)
        ):
            return part_at(base, index.value.value)
        if isinstance(base.value, Items | Table) and isinstance(index.value, Constant):
            try:
                return _held(self.flow.run.item(base.value, index.value), self.mode)
            except (Exhausted, RecursionError):
                return UNKNOWN
        if isinstance(base.value, Items | Table):
            inside = self.flow.elements(base.value)
            return Held(value=Choice(tuple(inside))) if inside else UNKNOWN
        if isinstance(base.value, Applied):
            inside = self.flow.elements(base.value)
            position = index.value.value if isinstance(index.value, Constant) else None
            if isinstance(position, int) and -len(inside) <= position < len(inside):
                return _held(inside[position], self.mode)
        if base.entries is not None and isinstance(index.value, Constant):
            return dict(base.entries).get(str(index.value.value), UNKNOWN)
        return Held(base.dtype, base.layers, sure=base.sure)

    def _binary(self, left: Held, op: ast.operator, right: Held) -> Held:
        layers = max(left.layers, right.layers)
        if isinstance(op, ast.MatMult):
            return operation("matmul", "torch.matmul", [left, right], {}, self.mode)
        if isinstance(op, ast.Pow) and DType.NUMBER not in {left.dtype}:
            return operation("pow", "torch.pow", [left, right], {}, self.mode)
        if isinstance(op, ast.Div) and left.dtype is DType.NUMBER and right.dtype is not DType.NUMBER:
            return operation("reciprocal", "torch.reciprocal", [right], {}, self.mode)
        both = isinstance(op, ast.Mult) and DType.NUMBER not in {left.dtype, right.dtype}
        if both:  # the product of two values grows as their layers together
            layers = min(left.layers + right.layers, MOST_LAYERS)
        sure = left.sure and right.sure
        folded = _folded(left.value, op, right.value)
        return Held(promoted((left.dtype, right.dtype)), layers, value=folded, sure=sure)

    def _call(self, node: ast.Call) -> Held:
        args = [held for arg in node.args for held in self._given(arg)]
        keywords = {word.arg: self.evaluate(word.value) for word in node.keywords if word.arg is not None}
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name == "super" or (isinstance(func, ast.Attribute) and _is_super(func.value)):
            return self._super(node, args, keywords)
        if isinstance(func, ast.Name) and func.id in self.local:
            return self._nested(self.local[func.id], args, keywords)
        callee = self._callee(func)
        if callee is None or _is_hollow(callee):
            callee = self.flow.callees.get(id(node), callee)
        if self.mode.half is not None and lowers(callee):
            self.flow.lowered.add(node)
        if isinstance(callee, Outside):
            return self._outside(callee.name, node, args, keywords)
        if is_callable(callee):
            self.flow.note_reached(node, callee)
            return self.flow.call(callee, args, keywords, self.mode)
        if isinstance(func, ast.Attribute):
            base = self.evaluate(func.value)
            if isinstance(base.value, Table) and func.attr in {"items", "values"}:
                return _entries(self.flow, base, func.attr == "items")
            if isinstance(base.value, Instance | Applied) and func.attr in MOVING:
                return self._moved(node, base.value, func.attr, args, keywords)
            is_tensor = base.dtype in HALVES | {DType.FLOAT32}
            if (base.value is None or isinstance(base.value, Applied)) and not _names_network(
                func, is_tensor
            ):
                if self.mode.half is not None and func.attr in LOWER:
                    self.flow.lowered.add(node)
                return self._method(node, base, func.attr, args, keywords)
        return network_output(args, self.mode) if _names_network(func) else UNKNOWN

    def _given(self, node: ast.expr) -> list[Held]:
        """An argument, or those that a star spreads: `nn.Sequential(stem, *blocks)`."""
        held = self.evaluate(node)
        if not isinstance(node, ast.Starred):
            return [held]
        return list(held.items) if held.items else [held]

    def _callee(self, func: ast.expr) -> Value | None:
        """The object that is called, None for a method of a tensor and for what is not known."""
        match func:
            case ast.Name(id=name) if name in self.names:
                return self.names[name].value
            case ast.Name():
                value = self.flow.evaluate(func, self.module)
                return value if not isinstance(value, Leaf) else None
            case ast.Attribute(value=base_node, attr=attr):
                base = self.evaluate(base_node).value
                if isinstance(base, Instance | Outside | ClassValue | Choice | Table):
                    found = self.flow.attribute(base, attr, Site(self.module.source, func))
                    return found if is_callable(found) or isinstance(found, Outside) else None
                full = dotted(func)
                if full is not None and full.partition(".")[0] not in self.names:
                    target = self.flow.run.index.resolve(self.module, full)
                    if isinstance(target, External):
                        return Outside(target.name)
                    if isinstance(target, Function):
                        return FunctionValue(target)
            case ast.Subscript() | ast.Call() | ast.IfExp():
                return self.evaluate(func).value
        return None

    def _outside(self, name: str, node: ast.Call, args: list[Held], keywords: dict[str, Held]) -> Held:
        last = name.rpartition(".")[2]
        if (last in WRAPPING or last.endswith("DataParallel")) and args and args[0].value is not None:
            return args[0]
        if last == "checkpoint" and args:
            return self.flow.call(args[0].value, args[1:], {}, self.mode)
        if last in {"enumerate", "zip", "list", "tuple", "reversed", "sorted", "iter", "tqdm"}:
            return _paired(
                last, [Held(items=tuple(_elements(self.flow, arg))) if arg.value else arg for arg in args]
            )
        if last[:1].isupper() and last not in CREATING:
            # A layer that is made on the spot, `nn.Softmax(dim=-1)(x)`: the object, not a number.
            values = tuple(_object(held) or Leaf("argument") for held in args)
            given = {key: _object(held) or Leaf(key) for key, held in keywords.items()}
            return Held(value=Applied(name, values, given, Site(self.module.source, node)))
        if last == "autocast" or last == "nullcontext":
            values = tuple(held.value or Leaf("argument") for held in args)
            given = {key: held.value or Leaf(key) for key, held in keywords.items()}
            return Held(value=Applied(name, values, given, Site(self.module.source, node)))
        return operation(last, name, args, keywords, self.mode)

    def _method(
        self, node: ast.Call, base: Held, name: str, args: list[Held], keywords: dict[str, Held]
    ) -> Held:
        """A method of a tensor."""
        cast = cast_type(name, node, args, keywords)
        if cast is not None:
            if isinstance(cast, DType):
                base = replace(base, dtype=cast, items=None)
            return replace(base, value=None)
        if name in {"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"}:
            return Held(base.dtype)
        if name in {"chunk", "split", "unbind", "tensor_split"}:
            return replace(base, value=None)
        return operation(name, f".{name}", [replace(base, value=None), *args], keywords, self.mode)

    def _moved(
        self, node: ast.Call, module: Value, name: str, args: list[Held], keywords: dict[str, Held]
    ) -> Held:
        """A network that is moved, cast or switched: still the network."""
        values = tuple(held.value or Leaf("argument") for held in args)
        given = {key: held.value or Leaf(key) for key, held in keywords.items()}
        return Held(value=Applied(f".{name}", (module, *values), given, Site(self.module.source, node)))

    def _super(self, node: ast.Call, args: list[Held], keywords: dict[str, Held]) -> Held:
        func = node.func
        if not isinstance(func, ast.Attribute) or self.cls is None:
            return UNKNOWN
        for ancestor in self.flow.run.index.lineage(self.cls)[1:]:
            if func.attr in ancestor.methods:
                bound = self.names.get("self", UNKNOWN).value
                return self.flow.follow(ancestor.methods[func.attr], bound, args, keywords, self.mode)
        outside = self.flow.run.index.outside_bases(self.cls)
        made = Applied(outside[0] if outside else "", (), {}, Site(self.module.source, node))
        return self.flow.call(made, args, keywords, self.mode) if func.attr == "forward" else UNKNOWN

    def _nested(self, node: FunctionNode, args: list[Held], keywords: dict[str, Held]) -> Held:
        """A function defined inside this one."""
        if self.flow._depth >= DEPTH:
            return UNKNOWN
        names = dict(self.names)
        names.update(zip((arg.arg for arg in node.args.args), args, strict=False))
        names.update(keywords)
        frame = _Frame(self.flow, self.module, names, self.mode, self.cls)
        frame.local = {name: other for name, other in self.local.items() if other is not node}
        self.flow._depth += 1
        try:
            frame.block(node.body)
        finally:
            self.flow._depth -= 1
        return joined(frame.returned) if frame.returned else NUMBER


def _default_of(function: Function, name: str) -> Constant | None:
    """The plain default of a parameter."""
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(reversed(positional), reversed(spec.defaults), strict=False)]
    pairs += [(arg, one) for arg, one in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if one]
    for arg, default in pairs:
        if arg.arg == name and isinstance(default, ast.Constant):
            return Constant(default.value)
    return None


def _object(held: Held) -> Value | None:
    """The object that a value is; a list of them where all its parts are known."""
    if held.value is not None or not held.items:
        return held.value
    parts = [_object(part) for part in held.items]
    known = [part for part in parts if part is not None]
    return Items(known) if len(known) == len(parts) else None


def _is_hollow(callee: Value, depth: int = 6) -> bool:
    """Whether an object was made of something that is not known here: a walk that met it knows more."""
    match callee:
        case Leaf() | Part():
            return True
        case Applied(args=args):
            return depth > 0 and any(_is_hollow(arg, depth - 1) for arg in args)
        case Items(items=items):
            return depth > 0 and any(_is_hollow(item, depth - 1) for item in items)
        case Instance(open=is_open):
            return is_open
    return False


def _elements(flow: Flow, over: Held) -> Iterator[Held]:
    if over.items is not None:
        yield from over.items
    elif over.value is not None:
        yield from (Held(value=element) for element in flow.elements(over.value))
    elif over.dtype in HALVES | {DType.FLOAT32}:
        yield Held(over.dtype, over.layers)


def _entries(flow: Flow, table: Held, with_keys: bool) -> Held:
    """What `modules.items()` or `modules.values()` goes through."""
    found = tuple(_elements(flow, table))
    return Held(items=tuple(Held(items=(UNKNOWN, one)) for one in found) if with_keys else found)


def _paired(name: str, args: Sequence[Held]) -> Held:
    columns = [arg.items for arg in args if arg.items is not None]
    if name == "enumerate" and columns:
        return Held(items=tuple(Held(items=(NUMBER, item)) for item in columns[0]))
    if name == "zip" and columns and len(columns) == len(args):
        return Held(items=tuple(Held(items=row) for row in zip(*columns, strict=False)))
    return args[0] if args and name not in {"zip", "enumerate"} else UNKNOWN


def _held(value: Value | None, mode: Mode) -> Held:
    """What is known of an object: parameters and buffers are of the weights' type."""
    match value:
        case Constant(value=int() | float()):
            return Held(DType.NUMBER, value=value)
        case Applied(callee=callee) if callee == "torch.tensor":
            return NUMBER
        case Applied():
            kind = _kind(value, mode)
            return Held(value=value) if kind is DType.UNKNOWN else Held(kind)
        case None | Leaf():
            return UNKNOWN
    return Held(value=value)


def _kind(value: Value, mode: Mode, depth: int = 6) -> DType:
    """What an expression that an object keeps is: a number, or a tensor of the weights' type."""
    match value:
        case Constant(value=int() | float()) | Applied(callee="torch.tensor"):
            return DType.NUMBER
        case Leaf() | Part():
            return DType.NUMBER  # an argument among numbers: `dim**-0.5`
        case Applied(callee="torch.nn.Parameter" | "torch.nn.parameter.Parameter", args=[inner, *_]):
            return _kind(inner, mode, depth - 1) if depth else DType.UNKNOWN
        case Applied(callee=callee, args=args) if depth and (
            callee in ARITHMETIC or callee in METHODS_OF_PARTS
        ):
            kinds = {_kind(arg, mode, depth - 1) for arg in args}
            return DType.UNKNOWN if DType.UNKNOWN in kinds else promoted(kinds)
        case Applied(callee=callee) if callee.startswith("math.") or callee in {
            "int",
            "float",
            "len",
            "round",
        }:
            return DType.NUMBER
        case Applied(callee=callee):
            last = callee.rpartition(".")[2]
            is_making = (
                callee.startswith("torch.") and not callee.startswith("torch.nn.") and last in CREATING
            )
            return mode.weights if is_making else DType.UNKNOWN
    return DType.UNKNOWN


def _text(key: ast.expr | None) -> str | None:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _named(keys: Sequence[str | None], values: Sequence[Held]) -> Held:
    """A dictionary with the entries that are known by name."""
    entries = tuple((key, held) for key, held in zip(keys, values, strict=True) if key is not None)
    return Held(entries=entries) if entries else UNKNOWN


def _names_network(func: ast.expr, is_tensor: bool = False) -> bool:
    """Whether what is called has a name that people give to networks: `self.student`, `model`."""
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return not is_tensor and bool(NETWORK_WORDS.intersection(words(name)))
    return False


def _folded(left: Value | None, op: ast.operator, right: Value | None) -> Value | None:
    """A small sum of known numbers, as `2 * self.eps`."""
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    a, b = left.value, right.value
    if not (isinstance(a, int | float) and isinstance(b, int | float)):
        return None
    try:
        match op:
            case ast.Mult():
                return Constant(a * b)
            case ast.Div():
                return Constant(a / b)
            case ast.Sub():
                return Constant(a - b)
            case ast.Pow() if abs(a) <= 1024 and abs(b) <= 64:
                return Constant(a**b)
    except (ZeroDivisionError, OverflowError):
        return None
    return None


def _is_about_half(mode: Mode, given: Iterable[Held]) -> bool:
    """Whether half precision can be met inside a function."""
    if mode.half is not None or mode.weights in HALVES:
        return True
    return any(part.dtype in HALVES for held in given for part in flat(held))


def _is_open(held: Held) -> bool:
    """Whether nothing at all is known of a value."""
    return held.dtype is DType.UNKNOWN and held.items is None and isinstance(held.value, Leaf | Part | None)


def _is_norm_name(name: str) -> bool:
    return "norm" in name.lower()


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


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
