"""Following source on numbers, strictly: whatever is not known ends the experiment with CannotCompute.

Nothing of the program is run by Python. Every expression is taken apart here; what a library would do is
done by the functions of this folder and of `walk.tensor_operations`, and by a short list of harmless
methods of numbers, texts and containers.
"""

from __future__ import annotations

import ast
import math
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.program.experiments import arithmetic, layers
from stethoscope.program.experiments.attributes import attribute
from stethoscope.program.experiments.consumption import Consumption
from stethoscope.program.experiments.layers import Drawer, Layer
from stethoscope.program.experiments.library_calls import PLAIN, call_library
from stethoscope.program.experiments.methods import call_method
from stethoscope.program.experiments.operators import binary, unary
from stethoscope.program.experiments.running import LONGEST, STEPS, WORK, Frame, Live, Unlisted, Watch
from stethoscope.program.experiments.things import (
    OWN_LAYER,
    Ancestors,
    Array,
    Foreign,
    Held,
    Invented,
    Method,
    Object,
    Partial,
    Routine,
    Spot,
    Weight,
)
from stethoscope.program.index import Class, External, Function, Index, Module, Variable
from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute, TooLarge

DEPTH = 40
LEAST = 8  # what a size may be made at the smallest
_COMPARING: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


class _Leave(Exception):
    """return, break or continue."""


class _Return(_Leave):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Break(_Leave):
    pass


class _Continue(_Leave):
    pass


class Interpreter:
    """One experiment: makes a network and calls it."""

    def __init__(
        self,
        index: Index,
        watch: Watch | None = None,
        seed: int = 0,
        as_written: bool = False,
        smaller: int = 1,
    ) -> None:
        self.index = index
        self.smaller = smaller  # what large sizes are divided by
        self.as_written = as_written  # weights begin as torch and the program make them
        self.followed: set[ast.AST] = set()  # functions that were entered
        self.watch = watch or Watch()
        self.consumption = Consumption()
        self.drawer = Drawer(seed)
        self.steps = STEPS
        self.work = WORK
        self.is_overworked = False  # something was too large to be computed
        self.deadline = math.inf  # by the clock of the thread
        self.depth = 0
        self.chance = np.random.default_rng(seed)
        self.making = 0  # objects that are being made
        self.drew = False  # chance was asked for in a forward pass
        self.is_lively = False  # where chance differs from place to place there, and is the same each time
        self.layers: list[Layer] = []
        self.classes: set[Class] = set()
        self.called: set[int] = set()  # ids of the layers that were called
        self.replaced: dict[int, Callable[[Any], Any]] = {}  # what stands in for the output of a layer
        self.spared: list[Array] = []  # what would have been used in other circumstances
        self._globals: dict[tuple[str, str], Any] = {}

    # What is asked for

    def make(self, cls: Class, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """An object of a class."""
        made = Object(cls)
        self.classes.add(cls)
        self.making += 1
        try:
            init = self.index.method(cls, "__init__")
            keywords = {name: self.sized(value) for name, value in keywords.items()}
            if init is not None:
                self.call(self.bound(init, made), args, keywords)
            elif self.begin_layer(made, args, keywords, None):
                pass
            elif self._is_record(cls):
                self._fill_record(made, args, keywords)
            elif (args or keywords) and not self._fill_chain(made, args):
                raise CannotCompute("arguments that nothing takes")
        finally:
            self.making -= 1
        return made

    def call(
        self, callee: Any, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None = None
    ) -> Any:
        """`callee(...)`."""
        match callee:
            case Routine():
                return self._follow(callee, args, keywords)
            case Object():
                return self._call_object(callee, args, keywords, spot)
            case Layer():
                result = self._call_layer(callee, args, keywords)
                self.consumption.computed((*args, *keywords.values()), result)
                return result
            case Class():
                return self.make(callee, args, keywords)
            case Partial(of=inner, args=first, keywords=fixed):
                return self.call(inner, (*first, *args), {**fixed, **keywords}, spot)
            case Method(of=of, name=name):
                result = call_method(self, of, name, list(args), dict(keywords), spot)
                if isinstance(of, np.ndarray):
                    self.consumption.computed((of, *args, *keywords.values()), result, name)
                return result
            case Foreign(name=name):
                try:
                    result = call_library(self, name, list(args), dict(keywords), spot)
                except Unlisted:
                    if not self.making or not name.rpartition(".")[2][:1].isupper():
                        raise
                    return Foreign(f"{name}()")  # an object of a library, which a forward may never ask
                last = name.rpartition(".")[2]
                if last != name:
                    self.consumption.computed((*args, *keywords.values()), result, last)
                return result
            case list() if args:  # a chain of layers
                x = args[0]
                for one in callee:
                    x = self.call(one, (x,), {}, spot)
                return x
        raise CannotCompute(f"cannot call {type(callee).__name__}")

    def bound(self, function: Function, to: Any) -> Routine:
        """A method bound to an object."""
        home = self.index.module_of(function.source)
        if "staticmethod" in function.decorators:
            to = None
        elif "classmethod" in function.decorators:
            to = to.cls if isinstance(to, Object) else to
        return Routine(function.node, home, to, {}, function.owner, function)

    # Calls

    def _call_object(
        self, callee: Object, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None
    ) -> Any:
        method = self.index.method(callee.cls, "forward") or self.index.method(callee.cls, "__call__")
        if method is not None:
            return self.call(self.bound(method, callee), args, keywords, spot)
        if OWN_LAYER in callee.attributes:
            return self.call(callee.attributes[OWN_LAYER], args, keywords, spot)
        if "_modules" in callee.attributes:
            return self.call(callee.attributes["_modules"], args, keywords, spot)
        raise CannotCompute(f"{callee.cls.name} has no forward")

    def _call_layer(self, layer: Layer, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        self.called.add(id(layer))
        tensors = [x for x in (*args, *keywords.values()) if isinstance(x, np.ndarray)]
        size = max((x.size for x in tensors), default=0)
        for weight in layer.weights.values():
            if isinstance(weight, np.ndarray) and weight.ndim > 1 and layer.kind != "Embedding":
                self.spend(size / max(weight.shape[1], 1) * weight.size)
        if self.as_written and layer.kind.startswith("BatchNorm") and args:
            x = args[0]  # as in training, by what is in the batch
            args = (arithmetic.standardised(x, (0, *range(2, x.ndim)), 1e-5), *args[1:])
        result = layers.called(layer, args, keywords)
        if isinstance(result, np.ndarray):
            self.check(result)
            if layer.kind in layers.ACTIVATIONS and layer.made_at is not None and args:
                self.watch.activated(layers.ACTIVATIONS[layer.kind], args[0], layer.made_at)
        if layer.kind == "Softmax" and isinstance(result, np.ndarray) and layer.made_at is not None:
            axis = layer.given["dim"]
            self.watch.softmax(result, -1 if axis is None else axis, layer.made_at)
        if layer.kind == "MultiheadAttention" and len(args) > 1 and isinstance(args[1], np.ndarray):
            self.watch.attended(args[1].shape[1 if layer.given["batch_first"] else 0])
        replaced = self.replaced.get(id(layer))
        return replaced(result) if replaced is not None else result

    def _follow(self, routine: Routine, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise CannotCompute("calls too deep")
        frame = Frame(routine.module, self._bind(routine, args, keywords), routine.around, routine.owner)
        self.followed.add(routine.node)
        try:
            if isinstance(routine.node, ast.Lambda):
                return self.value(routine.node.body, frame)
            self._block(routine.node.body, frame)
        except _Return as left:
            return left.value
        finally:
            self.depth -= 1
        return frame.names.get("<yielded>")

    def _bind(self, routine: Routine, args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        spec = routine.node.args
        positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        given = [*([routine.bound] if routine.bound is not None else []), *args]
        names: dict[str, Any] = dict(zip(positional, given, strict=False))
        if len(given) > len(positional) and not spec.vararg:
            raise CannotCompute("too many arguments")
        if spec.vararg:
            names[spec.vararg.arg] = tuple(given[len(positional) :])
        known = {*positional, *(arg.arg for arg in spec.kwonlyargs)}
        names.update({name: value for name, value in keywords.items() if name in known})
        others = {name: value for name, value in keywords.items() if name not in known}
        if spec.kwarg:
            names[spec.kwarg.arg] = others
        elif others:
            raise CannotCompute("an unknown argument")
        home = Frame(routine.module, {}, routine.around, routine.owner)
        pairs = [
            *zip(reversed([*spec.posonlyargs, *spec.args]), reversed(spec.defaults), strict=False),
            *(
                (arg, default)
                for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
                if default
            ),
        ]
        for arg, default in pairs:
            if arg.arg not in names:
                names[arg.arg] = self.value(default, home)
        if any(name not in names for name in known):
            raise CannotCompute("an argument is missing")
        return names

    def _is_record(self, cls: Class) -> bool:
        return any(isinstance(node, ast.AnnAssign) for node in cls.node.body)

    def _fill_record(self, made: Object, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        fields = [
            (node.target.id, node.value)
            for cls in reversed(self.index.lineage(made.cls))
            for node in cls.node.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]
        made.attributes.update(zip([name for name, _ in fields], args, strict=False))
        made.attributes.update(keywords)
        home = Frame(self.index.module_of(made.cls.source), {}, {}, made.cls)
        for name, default in fields:
            if name not in made.attributes:
                if default is None or isinstance(default, ast.Call):
                    raise CannotCompute("a field without a plain default")
                made.attributes[name] = self.value(default, home)
        post = self.index.method(made.cls, "__post_init__")
        if post is not None:
            self.call(self.bound(post, made), (), {})

    def _fill_chain(self, made: Object, args: Sequence[Any]) -> bool:
        if not any(base.endswith("nn.Sequential") for base in self.index.outside_bases(made.cls)):
            return False
        made.attributes["_modules"] = list(args)
        return True

    def begin_layer(
        self, made: Object, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None
    ) -> bool:
        """Give an object of a class that derives from a layer of torch that layer."""
        bases = self.index.outside_bases(made.cls)
        kinds = [one.rpartition(".")[2] for one in bases if one.startswith("torch.nn.")]
        kind = next((kind for kind in kinds if kind in layers.SIGNATURES), None)
        if kind is None:
            return False
        made.attributes[OWN_LAYER] = call_library(self, f"torch.nn.{kind}", list(args), dict(keywords), spot)
        return True

    def sized(self, value: Any) -> Any:
        """A size as this experiment takes it: large ones, all of them, divided by the same number."""
        if self.smaller == 1:
            return value
        if isinstance(value, list | tuple):
            return type(value)(self.sized(one) for one in value)
        is_large = type(value) is int and value >= LEAST * self.smaller and value % self.smaller == 0
        return value // self.smaller if is_large else value

    def is_chain(self, of: Object) -> bool:
        return any(base.endswith("nn.Sequential") for base in self.index.outside_bases(of.cls))

    # Statements

    def _block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        for statement in body:
            self._statement(statement, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        self._step()
        match node:
            case ast.Return(value=value):
                raise _Return(self.value(value, frame) if value else None)
            case ast.Expr(value=ast.Yield(value=value)):
                frame.names.setdefault("<yielded>", []).append(self.value(value, frame) if value else None)
            case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Pass() | ast.Import() | ast.ImportFrom():
                return
            case ast.Expr(value=value):
                self.value(value, frame)
            case ast.Assign(targets=targets, value=value):
                given = self.value(value, frame)
                for target in targets:
                    self._assign(target, given, frame)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._assign(target, self.value(value, frame), frame)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(target, op, value, frame)
            case ast.If(test=test, body=body, orelse=orelse):
                is_so = self.truth(self.value(test, frame))
                self._spare(orelse if is_so else body, frame)
                self._block(body if is_so else orelse, frame)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                self._for(target, self.elements(self.value(iterable, frame)), body, orelse, frame)
            case ast.While(test=test, body=body):
                while self.truth(self.value(test, frame)):
                    try:
                        self._block(body, frame)
                    except _Break:
                        break
                    except _Continue:
                        continue
            case ast.With(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        raise CannotCompute("a named context")
                self._block(body, frame)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case ast.FunctionDef():
                names = {**frame.around, **frame.names}
                frame.names[node.name] = Routine(node, frame.module, None, Live(frame, names), frame.owner)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name):
                        frame.names.pop(target.id, None)
            case _:
                raise CannotCompute(type(node).__name__)

    def _for(
        self,
        target: ast.expr,
        elements: list[Any],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        frame: Frame,
    ) -> None:
        if not elements:
            self._spare(body, frame)
        for element in elements:
            self._assign(target, element, frame)
            try:
                self._block(body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self._block(orelse, frame)

    def _spare(self, branch: Sequence[ast.AST], frame: Frame) -> None:
        """Keep the tensors that a branch which is not taken would have used."""
        if self.making:
            return
        for part in branch:
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and isinstance(frame.names.get(node.id), np.ndarray):
                    self.spared.append(frame.names[node.id])

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr, frame: Frame) -> None:
        old, given = self.value(target, frame), self.value(value, frame)
        new = binary(self, op, old, given, None)
        if isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and new.shape == old.shape:
            if old.flags.writeable and old.dtype == new.dtype:
                old[...] = new  # in place, as in torch
                new = old
        elif isinstance(old, list) and isinstance(given, list | tuple) and isinstance(op, ast.Add):
            old.extend(given)
            new = old
        self._assign(target, new, frame)

    def _assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, self.elements(value), frame)
            case ast.Attribute(value=base, attr=name):
                self._set_attribute(self.value(base, frame), name, value)
            case ast.Subscript(value=base, slice=key):
                self._set_item(self.value(base, frame), self.value(key, frame), value)
            case _:
                raise CannotCompute("an unusual target")

    def _unpack(self, targets: list[ast.expr], values: list[Any], frame: Frame) -> None:
        stars = [place for place, one in enumerate(targets) if isinstance(one, ast.Starred)]
        if stars:
            place, after = stars[0], len(targets) - stars[0] - 1
            middle = values[place : len(values) - after]
            values = [*values[:place], middle, *values[len(values) - after :]]
        if len(values) != len(targets):
            raise CannotCompute("another number of values")
        for one, value in zip(targets, values, strict=True):
            self._assign(one.value if isinstance(one, ast.Starred) else one, value, frame)

    def _set_attribute(self, base: Any, name: str, value: Any) -> None:
        match base:
            case Object():
                base.attributes[name] = value
            case Layer():
                if name == "weight" and isinstance(value, np.ndarray) and "weight" in base.weights:
                    base.weights["weight"] = value
                elif self.as_written and name in base.weights:
                    base.weights[name] = value
            case np.ndarray() if name == "data" and (self.as_written or value is base):
                base[...] = value
            case np.ndarray():
                if not (isinstance(base, Weight) and self.making):
                    raise CannotCompute("a tensor's attribute is set")
            case _:
                raise CannotCompute("an attribute is set")

    def _set_item(self, base: Any, key: Any, value: Any) -> None:
        if isinstance(base, Weight) and self.making and not self.as_written:
            return
        if isinstance(base, np.ndarray):
            base[_as_key(key)] = value
        elif isinstance(base, list | dict):
            base[key] = value
        else:
            raise CannotCompute("an item is set")

    # Expressions

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        self._step()
        match node:
            case ast.Constant(value=value):
                return self.sized(value)
            case ast.Name(id=name):
                return self._name(name, frame)
            case ast.Attribute(value=base, attr=name):
                return attribute(self, self.value(base, frame), name)
            case ast.Call():
                return self._call(node, frame)
            case ast.BinOp(left=left, op=op, right=right):
                spot = Spot(frame.module.source, node)
                return binary(self, op, self.value(left, frame), self.value(right, frame), spot)
            case ast.UnaryOp(op=op, operand=operand):
                return unary(self, op, self.value(operand, frame))
            case ast.BoolOp(op=op, values=values):
                return self._boolean(op, values, frame)
            case ast.Compare():
                return self._compared(node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                is_so = self.truth(self.value(test, frame))
                self._spare((orelse if is_so else body,), frame)
                return self.value(body if is_so else orelse, frame)
            case ast.Subscript(value=base, slice=key):
                return self._item(self.value(base, frame), self.value(key, frame))
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [self.value(end, frame) if end is not None else None for end in (lower, upper, step)]
                return slice(*(int(e) if e is not None else None for e in ends))
            case ast.Tuple(elts=elements):
                return tuple(self._many(elements, frame))
            case ast.List(elts=elements):
                return self._many(elements, frame)
            case ast.Set(elts=elements):
                return set(self._many(elements, frame))
            case ast.Dict(keys=keys, values=values):
                return self._dictionary(keys, values, frame)
            case (
                ast.ListComp(elt=element, generators=generators)
                | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return [self.value(element, inner) for inner in self._rounds(generators, frame)]
            case ast.DictComp(key=key, value=value, generators=generators):
                rounds = self._rounds(generators, frame)
                return {self.value(key, inner): self.value(value, inner) for inner in rounds}
            case ast.Lambda():
                names = {**frame.around, **frame.names}
                return Routine(node, frame.module, None, Live(frame, names), frame.owner)
            case ast.JoinedStr(values=values):
                return "".join(str(self.value(v, frame)) for v in values)
            case ast.FormattedValue(value=value):
                return self.value(value, frame)
            case ast.NamedExpr(target=target, value=value):
                given = self.value(value, frame)
                self._assign(target, given, frame)
                return given
        raise CannotCompute(type(node).__name__)

    def _many(self, elements: list[ast.expr], frame: Frame) -> list[Any]:
        made: list[Any] = []
        for one in elements:
            if isinstance(one, ast.Starred):
                made.extend(self.elements(self.value(one.value, frame)))
            else:
                made.append(self.value(one, frame))
        return made

    def _dictionary(
        self, keys: list[ast.expr | None], values: list[ast.expr], frame: Frame
    ) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                made.update(self.value(value, frame))
            else:
                made[self.value(key, frame)] = self.value(value, frame)
        return made

    def _rounds(self, generators: list[ast.comprehension], frame: Frame) -> list[Frame]:
        frames = [Frame(frame.module, {**frame.names}, frame.around, frame.owner)]
        for generator in generators:
            entered: list[Frame] = []
            for outer in frames:
                for element in self.elements(self.value(generator.iter, outer)):
                    inner = Frame(frame.module, {**outer.names}, frame.around, frame.owner)
                    self._assign(generator.target, element, inner)
                    if all(self.truth(self.value(test, inner)) for test in generator.ifs):
                        entered.append(inner)
            frames = entered
        return frames

    def elements(self, value: Any) -> list[Any]:
        match value:
            case list() | tuple() | range() | set():
                return list(value)
            case dict():
                return list(value)
            case np.ndarray() if value.ndim > 0 and value.shape[0] <= LONGEST:
                return list(value)
            case Object() if isinstance(value.attributes.get("_modules"), list):
                return list(value.attributes["_modules"])
            case str():
                return list(value)
        raise CannotCompute("a loop over something unknown")

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        spot = Spot(frame.module.source, node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            first = next(iter(frame.names.values()), None)
            if not isinstance(first, Object) or frame.owner is None:
                raise CannotCompute("super outside of an object")
            return Ancestors(first, frame.owner)
        callee = self.value(node.func, frame)
        args = self._many(node.args, frame)
        keywords: dict[str, Any] = {}
        for word in node.keywords:
            if word.arg is None:
                spread = self.value(word.value, frame)
                if not isinstance(spread, dict):
                    raise CannotCompute("unknown arguments")
                keywords.update(spread)
            else:
                keywords[word.arg] = self.value(word.value, frame)
        return self.call(callee, args, keywords, spot)

    def _boolean(self, op: ast.boolop, values: list[ast.expr], frame: Frame) -> Any:
        is_and = isinstance(op, ast.And)
        result: Any = is_and
        for value in values:
            result = self.value(value, frame)
            if self.truth(result) is not is_and:
                return result
        return result

    def _compared(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        result: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, frame)
            is_identity = isinstance(op, ast.Is | ast.IsNot)
            if self.as_written and isinstance(left, Foreign):
                left, right = _kind_name(left), _kind_name(right)
            if isinstance(left, Foreign | Held) or isinstance(right, Foreign | Held):
                raise CannotCompute("a comparison with something of a library")
            if (isinstance(left, Invented) or isinstance(right, Invented)) and not is_identity:
                raise CannotCompute("a decision by an invented size")
            result = _COMPARING[type(op)](left, right)
            self.consumption.asked((left, right), result)
            if len(node.ops) > 1 and not self.truth(result):
                return result
            left = right
        return result

    def truth(self, value: Any) -> bool:
        if isinstance(value, Invented | Foreign | Held):
            raise CannotCompute("a decision by something unknown")
        if isinstance(value, np.ndarray):
            if value.size != 1:
                raise CannotCompute("a decision by a tensor")
            return bool(value.reshape(-1)[0])
        if isinstance(value, Layer | Object | Routine | Class):
            return True
        return bool(value)

    # Names, attributes, items

    def _name(self, name: str, frame: Frame) -> Any:
        if name in frame.names:
            return frame.names[name]
        if name in frame.around:
            return frame.around[name]
        return self.global_value(name, frame.module)

    def global_value(self, name: str, module: Module) -> Any:
        key = (module.source.file, name)
        if key not in self._globals:
            self._globals[key] = self._looked_up(name, module)
        return self._globals[key]

    def _looked_up(self, name: str, module: Module) -> Any:
        target = self.index.resolve(module, name)
        match target:
            case Function():
                return Routine(target.node, self.index.module_of(target.source), function=target)
            case Class() | Module():
                return target
            case External(name=full):
                return Foreign(full)
            case Variable(value=value, source=source):
                return self.value(value, Frame(self.index.module_of(source), {}, {}, None))
        if name in PLAIN or name in {"print", "isinstance", "getattr", "hasattr", "map"}:
            return Foreign(name)
        raise CannotCompute(name)

    def is_module(self, base: Object) -> bool:
        bases = self.index.outside_bases(base.cls)
        return any(
            one.startswith("torch.nn.") or one.rpartition(".")[2].endswith(("Module", "Sequential", "List"))
            for one in bases
        )

    def _item(self, base: Any, key: Any) -> Any:
        if isinstance(base, np.ndarray):
            found = self.check(base[_as_key(key)])
            self.consumption.computed((base, key), found)
            return found
        if isinstance(base, list | tuple | dict | str | range):
            if isinstance(key, np.ndarray):
                key = key.item()
            return base[key]
        if isinstance(base, Object) and isinstance(base.attributes.get("_modules"), list):
            return base.attributes["_modules"][key]
        if isinstance(base, Held):
            return self.sized(base.item(key))
        raise CannotCompute("an item of something unknown")

    # Limits

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TooLarge("too long")
        if self.steps % 32 == 0 and time.thread_time() > self.deadline:
            raise TooLarge("too late")

    def spend(self, amount: float) -> None:
        self.work -= amount
        if self.work < 0:
            raise TooLarge("too much work")
        if time.thread_time() > self.deadline:
            raise TooLarge("too late")

    def check(self, result: Any) -> Any:
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if isinstance(result, np.ndarray):
            self.work -= result.size
            if result.size > 2 * LARGEST or result.dtype == object:
                raise TooLarge("the array is too large")
        return result


def _kind_name(kind: Any) -> Any:
    """What a kind of layer, or each of several, is called."""
    if isinstance(kind, list | tuple | set):
        return tuple(_kind_name(one) for one in kind)
    return kind.name.rpartition(".")[2] if isinstance(kind, Foreign) else kind


def _as_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_as_key(k) for k in key)
    if isinstance(key, np.ndarray) and key.dtype.kind == "f":
        return key.astype(np.int64)
    return list(key) if isinstance(key, range) else key
