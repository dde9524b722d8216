"""Following source on numbers, strictly: whatever is not known ends the experiment with CannotCompute.

Nothing of the program is run by Python. Every expression is taken apart here; what a library would do is
done by the functions of this folder and of `walk.tensor_operations`, and by a short list of harmless
methods of numbers, texts and containers.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.program.experiments import arithmetic, layers
from stethoscope.program.experiments.einops import einops_call
from stethoscope.program.experiments.layers import Drawer, Layer, Packed
from stethoscope.program.experiments.things import (
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
from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute
from stethoscope.program.walk.tensor_operations import compute, is_known

STEPS = 250_000  # expressions and statements for all that one network is asked
WORK = 2e9  # multiplications of one question, a second or two
DEPTH = 40
LONGEST = 4096  # elements of a list that is made by counting

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.MatMult: np.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARING: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_PLAIN: dict[str, Callable[..., Any]] = {
    "len": len, "range": range, "zip": zip, "enumerate": enumerate, "reversed": reversed, "min": min,
    "max": max,
    "sum": sum, "abs": abs, "int": int, "float": float, "bool": bool, "str": str, "list": list,
    "tuple": tuple,
    "dict": dict, "set": set, "sorted": sorted, "any": any, "all": all, "round": round, "divmod": divmod,
}  # fmt: skip
_CONTAINER_METHODS = {
    list: {"append", "extend", "pop", "insert", "index", "count", "copy", "reverse"},
    dict: {"items", "keys", "values", "get", "pop", "update", "setdefault", "copy"},
    tuple: {"index", "count"},
    str: {"lower", "upper", "split", "startswith", "endswith", "strip", "replace", "join", "format"},
    set: {"add", "union"},
    int: {"bit_length"},
    float: {"is_integer"},
}
# What is done to a network or its weights that changes nothing an experiment asks for.
_IDLE = frozenset({
    "to", "cuda", "cpu", "half", "float", "double", "train", "eval", "requires_grad_", "apply",
    "register_forward_hook",
    "share_memory", "compile", "bfloat16", "type", "gradient_checkpointing_enable", "flatten_parameters",
    "reset_parameters", "init_weights", "_init_weights", "initialize_weights", "_reset_parameters",
    "post_init",
})  # fmt: skip
_EMPTY = frozenset({"parameters", "named_parameters", "modules", "named_modules", "buffers", "named_buffers"})
_HOLDERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
_SAME = frozenset({
    "contiguous", "clone", "detach", "detach_", "cuda", "cpu", "half", "float", "double", "bfloat16",
    "type_as",
    "requires_grad_", "float32", "to_dense", "pin_memory", "retain_grad",
})  # fmt: skip
_ALIKE = frozenset(
    {"copy.deepcopy", "torch.compile", "torch.jit.script", "torch.autograd.Variable", "typing.cast"}
)
# fmt: off
_FIRST_OF_WRAPPER = (
    "spectral_norm", "weight_norm", "orthogonal", "DataParallel", "DistributedDataParallel",
    "convert_sync_batchnorm",
)
# fmt: on
_RANDOM = frozenset(
    {"randn", "rand", "normal", "rand_like", "randn_like", "randint", "randperm", "bernoulli"}
)


_ABOUT_STORAGE = frozenset(
    {"dtype", "device", "requires_grad", "generator", "out", "layout", "memory_format"}
)


class Unlisted(CannotCompute):
    """Something is done that no input would make known."""


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


class Watch:
    """What an experiment may look at while a network is computed."""

    def softmax(self, result: Array, axis: int, spot: Spot) -> None:
        """A softmax was taken."""

    def product(self, subscripts: str | None, operands: Sequence[Array], spot: Spot) -> None:
        """Tensors were multiplied; `subscripts` are einsum's, None for a product of matrices."""

    def reshape(self, before: Array, after: Array, spot: Spot) -> None:
        """A tensor was given another shape."""


class Frame:
    """The names of one call."""

    __slots__ = ("around", "module", "names", "owner")

    def __init__(
        self, module: Module, names: dict[str, Any], around: Mapping[str, Any], owner: Class | None
    ) -> None:
        self.module = module
        self.names = names
        self.around = around
        self.owner = owner


class Interpreter:
    """One experiment: makes a network and calls it."""

    def __init__(self, index: Index, watch: Watch | None = None, seed: int = 0) -> None:
        self.index = index
        self.watch = watch or Watch()
        self.drawer = Drawer(seed)
        self.steps = STEPS
        self.work = WORK
        self.depth = 0
        self.chance = np.random.default_rng(seed)
        self.making = 0  # objects that are being made
        self.layers: list[Layer] = []
        self.classes: set[Class] = set()
        self.called: set[int] = set()  # ids of the layers that were called
        self.replaced: dict[int, Callable[[Any], Any]] = {}  # what stands in for the output of a layer
        self._globals: dict[tuple[str, str], Any] = {}

    # What is asked for

    def make(self, cls: Class, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """An object of a class."""
        made = Object(cls)
        self.classes.add(cls)
        self.making += 1
        try:
            init = self.index.method(cls, "__init__")
            if init is not None:
                self.call(self.bound(init, made), args, keywords)
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
                return self._call_layer(callee, args, keywords)
            case Class():
                return self.make(callee, args, keywords)
            case Partial(of=inner, args=first, keywords=fixed):
                return self.call(inner, (*first, *args), {**fixed, **keywords}, spot)
            case Method(of=of, name=name):
                return self._call_method(of, name, list(args), dict(keywords), spot)
            case Foreign(name=name):
                return self._call_foreign(name, list(args), dict(keywords), spot)
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
        if "_modules" in callee.attributes:
            return self.call(callee.attributes["_modules"], args, keywords, spot)
        raise CannotCompute(f"{callee.cls.name} has no forward")

    def _call_layer(self, layer: Layer, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        self.called.add(id(layer))
        tensors = [x for x in (*args, *keywords.values()) if isinstance(x, np.ndarray)]
        size = max((x.size for x in tensors), default=0)
        for weight in layer.weights.values():
            if isinstance(weight, np.ndarray) and weight.ndim > 1 and layer.kind != "Embedding":
                self._spend_work(size / max(weight.shape[1], 1) * weight.size)
        result = layers.called(layer, args, keywords)
        if isinstance(result, np.ndarray):
            self._check(result)
        if layer.kind == "Softmax" and isinstance(result, np.ndarray) and layer.made_at is not None:
            axis = layer.given["dim"]
            self.watch.softmax(result, -1 if axis is None else axis, self._spot(layer))
        replaced = self.replaced.get(id(layer))
        return replaced(result) if replaced is not None else result

    def _spot(self, layer: Layer) -> Spot:
        assert layer.made_at is not None
        return layer.made_at

    def _follow(self, routine: Routine, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise CannotCompute("calls too deep")
        frame = Frame(routine.module, self._bind(routine, args, keywords), routine.around, routine.owner)
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

    def _call_foreign(self, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        last = name.rpartition(".")[2]
        if name in _PLAIN:
            return self._plain(name, args, keywords)
        if (
            name in {"print", "warnings.warn"}
            or ".init." in name
            or last in {"trunc_normal_", "checkpoint_sequential"}
        ):
            return args[0] if args else None
        if name == "isinstance" and len(args) == 2:
            return self._is_instance(args[0], args[1])
        if name in {"hasattr", "getattr"} and isinstance(args[1], str):
            return self._getattr(name, args)
        if name.startswith(
            ("torch.", "numpy.", "math.", "einops.", "functools.", "itertools.", "copy.", "typing.")
        ):
            pass
        elif (
            last in _FIRST_OF_WRAPPER
            or last in layers.IDENTITIES
            or name == "timm.models.layers.trunc_normal_"
        ):
            return (
                layers.made("Identity", (), {}, self.drawer, None) if last in layers.IDENTITIES else args[0]
            )
        elif name not in {"map", "filter"}:
            raise Unlisted(name)
        if (name.startswith(("torch.nn.", "torch.")) and last in _FIRST_OF_WRAPPER) or name in _ALIKE:
            return args[-1] if name == "typing.cast" else self._alike(name, args[0])
        if (
            name.startswith("torch.nn.")
            and name.count(".") <= 4
            and (last in layers.KINDS or last in _HOLDERS)
        ):
            return self._made_layer(last, args, keywords, spot)
        if last in {"Parameter", "UninitializedParameter"}:
            return self._parameter(args, keywords)
        if name.startswith("functools.partial"):
            return Partial(args[0], tuple(args[1:]), keywords)
        if name.endswith("checkpoint.checkpoint"):
            return self.call(args[0], args[1:], {}, spot)
        if name.startswith("einops."):
            return einops_call(self, last, args, keywords, spot)
        if name == "map":
            return [self.call(args[0], row, {}, spot) for row in zip(*args[1:], strict=False)]
        if name.startswith("math."):
            return self._mathematical(last, args)
        if last in {"pack_padded_sequence", "pad_packed_sequence"}:
            return self._packing(last, args, keywords)
        if last in {
            "no_grad",
            "enable_grad",
            "autocast",
            "manual_seed",
            "set_grad_enabled",
            "inference_mode",
        }:
            return None
        if name.endswith("_assert") or last in {"is_grad_enabled", "is_autocast_enabled", "is_available"}:
            return False
        if last in {"finfo", "iinfo"}:
            return _Finfo()
        if last in {"generate_square_subsequent_mask"}:
            return arithmetic.future(int(args[-1]))
        return self._computed(name, last, args, keywords, spot)

    def _alike(self, name: str, value: Any) -> Any:
        """A deep copy has the same weights to begin with, and is another thing."""
        if name != "copy.deepcopy":
            return value
        return self._copied(value, 0)

    def _copied(self, value: Any, depth: int) -> Any:
        if depth > 12:
            raise CannotCompute("nested too deep")
        match value:
            case Layer():
                fresh = Layer(value.kind, dict(value.given), value.made_at)
                layers._fill(fresh, self.drawer) if value.kind in layers.SIGNATURES else None
                self.layers.append(fresh)
                return fresh
            case Object():
                return Object(value.cls, {k: self._copied(v, depth + 1) for k, v in value.attributes.items()})
            case list():
                return [self._copied(v, depth + 1) for v in value]
            case dict():
                return {k: self._copied(v, depth + 1) for k, v in value.items()}
        return value

    def _made_layer(self, kind: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        if kind == "Sequential":
            return list(args[0].values()) if args and isinstance(args[0], dict) else list(args)
        if kind == "ModuleDict":
            return dict(args[0]) if args else {}
        if kind in _HOLDERS:
            return list(args[0]) if args else []
        layer = layers.made(kind, args, keywords, self.drawer, spot)
        self._spend_work(sum(w.size for w in layer.weights.values() if isinstance(w, np.ndarray)))
        self.layers.append(layer)
        return layer

    def _parameter(self, args: list[Any], keywords: dict[str, Any]) -> Any:
        given = args[0] if args else keywords.get("data")
        if not isinstance(given, np.ndarray):
            raise CannotCompute("a parameter of an unknown shape")
        if np.iscomplexobj(given):
            return self.drawer.draw(*given.shape).astype(np.complex128) * 0.3
        # One number, or one for each channel, is around one; a table of vectors is drawn like an embedding.
        drawn = self.drawer.draw(*given.shape, scale=0.3)
        return drawn + 1 if given.size == max(given.shape, default=1) else drawn * 2

    def _plain(self, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        if name == "len" and isinstance(args[0], np.ndarray):
            return args[0].shape[0]
        if name == "range":
            made = range(*map(operator.index, args))
            if len(made) > LONGEST:
                raise CannotCompute("a long count")
            return made
        if name in {"bool"}:
            return self._truth(args[0])
        result = _PLAIN[name](*args, **keywords)
        return list(result) if name in {"zip", "enumerate", "reversed"} else result

    def _getattr(self, name: str, args: list[Any]) -> Any:
        try:
            found = self.attribute(args[0], args[1])
        except CannotCompute:
            if name == "hasattr" and isinstance(args[0], Object):
                return False
            if name == "getattr" and len(args) == 3 and isinstance(args[0], Object):
                return args[2]
            raise
        return True if name == "hasattr" else found

    def _mathematical(self, name: str, args: list[Any]) -> Any:
        function = getattr(math, name, None)
        if function is None or not all(isinstance(a, int | float | np.ndarray) for a in args):
            raise CannotCompute(name)
        if name in {"factorial", "perm", "comb"}:
            raise CannotCompute(name)
        return function(*(a.item() if isinstance(a, np.ndarray) else a for a in args))

    def _packing(self, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        first = bool(keywords.get("batch_first", args[2] if len(args) > 2 and "pack_" in name else False))
        if name == "pack_padded_sequence":
            rows, lengths = args[0], np.asarray(args[1] if len(args) > 1 else keywords["lengths"])
            return Packed(rows if first else np.swapaxes(rows, 0, 1), lengths, first)
        first = bool(keywords.get("batch_first", args[1] if len(args) > 1 else False))
        packed = args[0]
        if not isinstance(packed, Packed):
            raise CannotCompute("nothing packed")
        return (packed.rows if first else np.swapaxes(packed.rows, 0, 1)), packed.lengths

    def _computed(
        self,
        name: str,
        last: str,
        args: list[Any],
        keywords: dict[str, Any],
        spot: Spot | None,
        method: bool = False,
    ) -> Any:
        """A function or method of torch on tensors."""
        kind = keywords.get("dtype")
        keywords = {k: v for k, v in keywords.items() if k not in _ABOUT_STORAGE}
        if last in _RANDOM:
            return self._drawn(last, args, keywords)
        if "fft" in name and f"fft.{last}" in arithmetic.FUNCTIONS:
            last = f"fft.{last}"
        if last == "einsum":
            operands = args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
            self._spend_work(math.prod(dict(_extents(args[0], operands)).values()))
            self.watch.product(args[0], operands, spot) if spot else None
            return self._check(np.einsum(args[0].replace(" ", ""), *operands))
        if last in {"matmul", "bmm", "mm"}:
            return self._product(args[0], args[1], spot)
        if last in {"reshape", "view", "flatten", "unflatten"} and isinstance(args[0], np.ndarray):
            return self._reshaped(last, args, keywords, spot)
        if "input" in keywords:
            args = [keywords.pop("input"), *args]
        if last in arithmetic.FUNCTIONS:
            result = arithmetic.FUNCTIONS[last](*args, **keywords)
        elif is_known(f".{last}") and method:
            result = compute(f".{last}", args, keywords)
        elif is_known(name):
            result = compute(name, args, keywords)
        elif last.endswith("_") and not last.startswith("_") and args and isinstance(args[0], np.ndarray):
            return self._in_place(last, args, keywords)
        else:
            raise Unlisted(name)
        if last == "softmax" and spot is not None:
            axis = keywords.get("dim", args[1] if len(args) > 1 else -1)
            self.watch.softmax(result, -1 if axis is None else axis, spot)
        return self._check(self._cast(result, kind))

    def _drawn(self, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        if not self.making:
            return self._held_still(last, args, keywords)
        if last == "randperm":
            return self.chance.permutation(int(args[0]))
        if last.endswith("_like") or last == "bernoulli":
            return self.chance.standard_normal(args[0].shape)
        if last == "normal":
            args = [keywords.get("size", args[-1] if args else ())]
        if last == "randint":
            sizes = keywords.get("size", args[-1])
            high = keywords.get("high", args[-2] if len(args) > 1 else 2)
            return self.chance.integers(0, int(high), tuple(sizes))
        sizes = args[0] if args and isinstance(args[0], list | tuple) else keywords.get("size", args)
        if math.prod(sizes) > LARGEST:
            return self.drawer.draw(*sizes)
        return self.chance.standard_normal(tuple(int(s) for s in sizes))

    def _held_still(self, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Chance in a forward pass is the same everywhere, so that it tells no place from another."""
        if last in {"rand_like", "randn_like"}:
            return np.full(args[0].shape, 0.3)
        if last in {"rand", "randn"}:
            sizes = args[0] if args and isinstance(args[0], list | tuple) else keywords.get("size", args)
            return np.full(tuple(int(s) for s in sizes), 0.3)
        raise CannotCompute("chance decides")

    @staticmethod
    def _cast(result: Any, kind: Any) -> Any:
        """A tensor in the type that it is made with."""
        if not isinstance(result, np.ndarray) or not isinstance(kind, Foreign):
            return result
        last = kind.name.rpartition(".")[2]
        if last == "bool":
            return result.astype(bool)
        if last in {"long", "int", "int64", "int32"}:
            return result.astype(np.int64)
        return result

    def _in_place(self, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        """`x.mul_(y)`: the tensor itself changes; what fills weights is left out."""
        target = args[0]
        if isinstance(target, Weight) and self.making:
            return target
        plain = last[:-1]
        if plain == "zero":
            target[...] = 0
        elif plain in {"normal", "uniform"}:
            target[...] = self.chance.standard_normal(target.shape)
        elif plain == "copy":
            target[...] = args[1]
        elif plain == "unsqueeze":
            return np.expand_dims(target, args[1])
        else:
            target[...] = self._computed(f".{plain}", plain, args, keywords, None, method=True)
        return target

    def _product(self, left: Any, right: Any, spot: Spot | None) -> Any:
        if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
            raise CannotCompute("no tensors")
        self._spend_work(left.size * right.shape[-1])
        if spot is not None:
            self.watch.product(None, (left, right), spot)
        return self._check(np.matmul(left, right))

    def _reshaped(self, last: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None) -> Any:
        x = args[0]
        if last == "flatten":
            start = keywords.get("start_dim", args[1] if len(args) > 1 else 0) % x.ndim
            end = keywords.get("end_dim", args[2] if len(args) > 2 else -1) % x.ndim
            sizes: Any = (*x.shape[:start], -1, *x.shape[end + 1 :])
        elif last == "unflatten":
            axis = keywords.get("dim", args[1]) % x.ndim
            sizes = (*x.shape[:axis], *args[-1], *x.shape[axis + 1 :])
        else:
            sizes = args[1:] or [keywords.get("shape")]
            if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
                sizes = sizes[0]
        if not all(isinstance(s, int | np.integer) for s in sizes):
            raise CannotCompute("an unknown shape")
        after = np.reshape(x, tuple(int(s) for s in sizes))
        if spot is not None:
            self.watch.reshape(x, after, spot)
        return after

    def _call_method(
        self, of: Any, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
    ) -> Any:
        if isinstance(of, np.ndarray):
            return self._tensor_method(of, name, args, keywords, spot)
        if isinstance(of, Layer | Object | list | dict) and (name in _IDLE or name in _EMPTY):
            return [] if name in _EMPTY else of
        if isinstance(of, Object) and name == "<chain>":
            of.attributes["_modules"] = (
                list(args[0].values()) if args and isinstance(args[0], dict) else list(args)
            )
            return None
        if isinstance(of, Object):
            return self._module_method(of, name, args, keywords)
        if isinstance(of, list) and name in {"add_module", "register_module"}:
            of.append(args[-1])
            return None
        for kind, names in _CONTAINER_METHODS.items():
            if isinstance(of, kind) and name in names:
                result = getattr(of, name)(*args, **keywords)
                return list(result) if name in {"items", "keys", "values"} else result
        if isinstance(of, Layer) and name == "forward":
            return self.call(of, args, keywords, spot)
        if isinstance(of, Ancestors):
            return None  # the __init__ of a base from outside, and the like
        if isinstance(of, Held):
            return self.call(of.attribute(name), args, keywords, spot)
        raise CannotCompute(name)

    def _tensor_method(
        self, x: Array, name: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
    ) -> Any:
        if name in _SAME:
            return x
        if name in {"to", "type"}:
            kinds = [a.name for a in (*args, *keywords.values()) if isinstance(a, Foreign)]
            if any(k.endswith(".bool") for k in kinds):
                return x.astype(bool)
            if any(k.endswith((".long", ".int", ".int64", ".int32")) for k in kinds):
                return x.astype(np.int64)
            return x.astype(np.float64) if x.dtype == bool and kinds else x
        if name in {"size", "dim", "numel", "ndimension", "nelement"}:
            if name == "size":
                axis = args[0] if args else keywords.get("dim")
                return x.shape if axis is None else x.shape[axis]
            return x.ndim if name.endswith(("dim", "dimension")) else x.size
        if name in {"item", "tolist", "numpy"}:
            return getattr(np.asarray(x), name)() if name != "numpy" else x
        if name in {"new_zeros", "new_ones", "new_full", "new_empty"}:
            sizes = args[0] if args and isinstance(args[0], list | tuple) else args
            return np.full(tuple(sizes), 1.0 if name == "new_ones" else 0.0)
        if name in {"register_hook", "backward", "is_floating_point", "is_complex", "is_contiguous"}:
            return False
        if name in {"float", "double"}:
            return x.astype(np.float64)
        if name in {"softmax", "log_softmax"} or name in arithmetic.FUNCTIONS:
            return self._computed(f"torch.{name}", name, [x, *args], keywords, spot, method=True)
        return self._computed(f".{name}", name, [x, *args], keywords, spot, method=True)

    def _module_method(self, of: Object, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        if name in {"register_buffer", "register_parameter", "add_module", "register_module"}:
            named = args + list(keywords.values())
            of.attributes[named[0]] = named[1]
            if isinstance(of.attributes.get("_modules"), list) and name.endswith("module"):
                of.attributes["_modules"].append(named[1])
            elif name.endswith("module") and self._is_chain(of):
                of.attributes["_modules"] = [named[1]]
            return None
        if name in {"save_hyperparameters", "register_load_state_dict_pre_hook"}:
            return None
        if name in {"children"}:
            return [v for v in of.attributes.values() if isinstance(v, Layer | Object)]
        raise CannotCompute(name)

    def _is_chain(self, of: Object) -> bool:
        return any(base.endswith("nn.Sequential") for base in self.index.outside_bases(of.cls))

    def _is_instance(self, value: Any, kinds: Any) -> bool:
        names = [k.name.rpartition(".")[2] for k in _many(kinds) if isinstance(k, Foreign)]
        if isinstance(value, Invented):
            raise CannotCompute("an invented size is asked for its kind")
        if isinstance(value, Object):
            own = [c for c in _many(kinds) if isinstance(c, Class)]
            return any(c in self.index.lineage(value.cls) for c in own) or "Module" in names
        if isinstance(value, Layer):
            return (
                value.kind in names or "Module" in names or (value.kind[:4] == "Conv" and "_ConvNd" in names)
            )
        if isinstance(value, np.ndarray):
            return "Tensor" in names
        if value is None or isinstance(value, str | int | float | list | tuple | dict):
            own_names = {kind.__name__ for kind in type(value).__mro__}
            return bool(own_names & set(names)) or (isinstance(value, list | tuple) and "Sequence" in names)
        raise CannotCompute("isinstance of something unknown")

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
                self._block(body if self._truth(self.value(test, frame)) else orelse, frame)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                self._for(target, self._elements(self.value(iterable, frame)), body, orelse, frame)
            case ast.While(test=test, body=body):
                while self._truth(self.value(test, frame)):
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
                frame.names[node.name] = Routine(node, frame.module, None, _Live(frame, names), frame.owner)
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
        for element in elements:
            self._assign(target, element, frame)
            try:
                self._block(body, frame)
            except _Break:
                return
            except _Continue:
                continue
        self._block(orelse, frame)

    def _augment(self, target: ast.expr, op: ast.operator, value: ast.expr, frame: Frame) -> None:
        old, given = self.value(target, frame), self.value(value, frame)
        new = self._binary(op, old, given, None)
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
                self._unpack(targets, self._elements(value), frame)
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
            case np.ndarray():
                if not (isinstance(base, Weight) and self.making):
                    raise CannotCompute("a tensor's attribute is set")
            case _:
                raise CannotCompute("an attribute is set")

    def _set_item(self, base: Any, key: Any, value: Any) -> None:
        if isinstance(base, Weight) and self.making:
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
                return value
            case ast.Name(id=name):
                return self._name(name, frame)
            case ast.Attribute(value=base, attr=name):
                return self.attribute(self.value(base, frame), name)
            case ast.Call():
                return self._call(node, frame)
            case ast.BinOp(left=left, op=op, right=right):
                spot = Spot(frame.module.source, node)
                return self._binary(op, self.value(left, frame), self.value(right, frame), spot)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand, frame))
            case ast.BoolOp(op=op, values=values):
                return self._boolean(op, values, frame)
            case ast.Compare():
                return self._compared(node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self._truth(self.value(test, frame)) else orelse, frame)
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
                return Routine(node, frame.module, None, _Live(frame, names), frame.owner)
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
                made.extend(self._elements(self.value(one.value, frame)))
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
                for element in self._elements(self.value(generator.iter, outer)):
                    inner = Frame(frame.module, {**outer.names}, frame.around, frame.owner)
                    self._assign(generator.target, element, inner)
                    if all(self._truth(self.value(test, inner)) for test in generator.ifs):
                        entered.append(inner)
            frames = entered
        return frames

    def _elements(self, value: Any) -> list[Any]:
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

    def _binary(self, op: ast.operator, left: Any, right: Any, spot: Spot | None) -> Any:
        numbers = (int, float, complex, np.ndarray, np.generic)
        if isinstance(op, ast.MatMult):
            return self._product(left, right, spot)
        if isinstance(op, ast.Pow):
            if not (isinstance(left, numbers) and isinstance(right, numbers)):
                raise CannotCompute("a power of no number")
            if isinstance(left, int) and isinstance(right, int) and (abs(right) > 64 or abs(left) > 1 << 32):
                raise CannotCompute("a large power")
            left = left.astype(np.float64) if isinstance(left, np.ndarray) else left
            return self._check(left**right)
        if isinstance(left, list | tuple | str) or isinstance(right, list | tuple | str):
            return self._joined(op, left, right)
        if not (isinstance(left, numbers) and isinstance(right, numbers)):
            if isinstance(left, dict) and isinstance(right, dict) and isinstance(op, ast.BitOr):
                return {**left, **right}
            raise CannotCompute("an operator on something unknown")
        function = _BINARY.get(type(op))
        if function is None:
            raise CannotCompute(type(op).__name__)
        if isinstance(op, ast.Sub) and getattr(getattr(left, "dtype", None), "kind", "") == "b":
            left = left.astype(np.int64)
        result = function(left, right)
        if isinstance(left, Invented) or isinstance(right, Invented):
            result = Invented(result) if type(result) is int else result
        return self._check(result)

    def _joined(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Mod) and isinstance(left, str):
            return left
        if isinstance(op, ast.Mult):
            count = right if isinstance(right, int) else left
            if not isinstance(count, int) or count > LONGEST:
                raise CannotCompute("a long list")
        elif not isinstance(op, ast.Add):
            raise CannotCompute("an operator on a list")
        return left * right if isinstance(op, ast.Mult) else left + right

    def _unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(op, ast.Not):
            return not self._truth(value)
        if isinstance(op, ast.Invert):
            if isinstance(value, np.ndarray):
                return ~value
            raise CannotCompute("~ of no tensor")
        if isinstance(value, int | float | complex | np.ndarray | np.generic):
            return -value if isinstance(op, ast.USub) else value
        raise CannotCompute("a sign before something unknown")

    def _boolean(self, op: ast.boolop, values: list[ast.expr], frame: Frame) -> Any:
        is_and = isinstance(op, ast.And)
        result: Any = is_and
        for value in values:
            result = self.value(value, frame)
            if self._truth(result) is not is_and:
                return result
        return result

    def _compared(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        result: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, frame)
            is_identity = isinstance(op, ast.Is | ast.IsNot)
            if isinstance(left, Foreign | Held) or isinstance(right, Foreign | Held):
                raise CannotCompute("a comparison with something of a library")
            if (isinstance(left, Invented) or isinstance(right, Invented)) and not is_identity:
                raise CannotCompute("a decision by an invented size")
            result = _COMPARING[type(op)](left, right)
            if len(node.ops) > 1 and not self._truth(result):
                return result
            left = right
        return result

    def _truth(self, value: Any) -> bool:
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
        return self._global(name, frame.module)

    def _global(self, name: str, module: Module) -> Any:
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
        if name in _PLAIN or name in {"print", "isinstance", "getattr", "hasattr", "map"}:
            return Foreign(name)
        raise CannotCompute(name)

    def attribute(self, base: Any, name: str) -> Any:
        """`base.name`."""
        match base:
            case np.ndarray():
                return self._tensor_attribute(base, name)
            case Object():
                return self._object_attribute(base, name)
            case Ancestors(of=of, cls=cls):
                for ancestor in self.index.lineage(of.cls)[self._place(of.cls, cls) + 1 :]:
                    if name in ancestor.methods:
                        return self.bound(ancestor.methods[name], of)
                if name == "__init__" and self._is_chain(of):
                    return Method(of, "<chain>")
                return Method(base, name)
            case Layer():
                if name in base.given:
                    return base.given[name]
                if name in {"weight", "bias"}:
                    return base.weights.get(name)
                return Method(base, name)
            case Foreign(name=full):
                if full == "math" and isinstance(getattr(math, name, None), float):
                    return getattr(math, name)
                if full in {"torch", "numpy"} and name in {"pi", "inf", "newaxis"}:
                    return {"pi": math.pi, "inf": math.inf, "newaxis": None}[name]
                return Foreign(f"{full}.{name}")
            case Module():
                return self._global(name, base)
            case Class():
                return self._class_attribute(base, name, base)
            case Held():
                return base.attribute(name)
            case _Finfo() if name in {"min", "max", "eps", "tiny"}:
                return {"min": -1e30, "max": 1e30, "eps": 1e-7, "tiny": 1e-30}[name]
            case list() if name in {"in_features", "weight", "training"}:
                raise CannotCompute(name)
            case list() | dict() | tuple() | str() | int() | float() | set():
                return Method(base, name)
        raise CannotCompute(name)

    def _place(self, own: Class, cls: Class) -> int:
        lineage = self.index.lineage(own)
        return lineage.index(cls) if cls in lineage else 0

    def _tensor_attribute(self, x: Array, name: str) -> Any:
        known: dict[str, Callable[[], Any]] = {
            "shape": lambda: tuple(int(s) for s in x.shape),
            "ndim": lambda: x.ndim,
            "data": lambda: x,
            "T": lambda: x.T,
            "mT": lambda: np.swapaxes(x, -1, -2),
            "mH": lambda: np.swapaxes(x, -1, -2),
            "real": lambda: x.real,
            "imag": lambda: x.imag,
            "device": lambda: "cpu",
            "dtype": lambda: Foreign("torch.float32"),
            "is_cuda": lambda: False,
            "requires_grad": lambda: True,
            "grad": lambda: None,
        }
        return known[name]() if name in known else Method(x, name)

    def _object_attribute(self, base: Object, name: str) -> Any:
        if name in base.attributes:
            return base.attributes[name]
        if name == "training":
            return False
        if name == "device":
            return "cpu"
        if name in _IDLE and self._is_module(base):
            return Method(base, name)
        try:
            return self._class_attribute(base.cls, name, base)
        except KeyError:
            if self._is_module(base):
                return Method(base, name)
            raise CannotCompute(name) from None

    def _class_attribute(self, cls: Class, name: str, to: Any) -> Any:
        for ancestor in self.index.lineage(cls):
            if name in ancestor.methods:
                routine = self.bound(ancestor.methods[name], to)
                if "property" in ancestor.methods[name].decorators:
                    return self.call(routine, (), {})
                return routine
            if name in ancestor.variables:
                home = self.index.module_of(ancestor.source)
                return self.value(ancestor.variables[name], Frame(home, {}, {}, ancestor))
        if isinstance(to, Class):
            raise CannotCompute(name)
        raise KeyError(name)

    def _is_module(self, base: Object) -> bool:
        bases = self.index.outside_bases(base.cls)
        return any(one.rpartition(".")[2].endswith(("Module", "Sequential", "List")) for one in bases)

    def _item(self, base: Any, key: Any) -> Any:
        if isinstance(base, np.ndarray):
            return self._check(base[_as_key(key)])
        if isinstance(base, list | tuple | dict | str | range):
            if isinstance(key, np.ndarray):
                key = key.item()
            return base[key]
        if isinstance(base, Object) and isinstance(base.attributes.get("_modules"), list):
            return base.attributes["_modules"][key]
        if isinstance(base, Held):
            return base.item(key)
        raise CannotCompute("an item of something unknown")

    # Limits

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise CannotCompute("too long")

    def _spend_work(self, amount: float) -> None:
        self.work -= amount
        if self.work < 0:
            raise CannotCompute("too much work")

    def _check(self, result: Any) -> Any:
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if isinstance(result, np.ndarray):
            self.work -= result.size
            if result.size > 2 * LARGEST or result.dtype == object:
                raise CannotCompute("the array is too large")
        return result


class _Finfo:
    """What torch.finfo gives."""


class _Live(Mapping[str, Any]):
    """The names around a function, as they are when it is called."""

    def __init__(self, frame: Frame, names: Mapping[str, Any]) -> None:
        self.frame = frame
        self.names = names

    def __getitem__(self, name: str) -> Any:
        return self.frame.names[name] if name in self.frame.names else self.names[name]

    def __contains__(self, name: object) -> bool:
        return name in self.frame.names or name in self.names

    def __iter__(self) -> Any:
        return iter({**self.names, **self.frame.names})

    def __len__(self) -> int:
        return len({**self.names, **self.frame.names})


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _as_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_as_key(k) for k in key)
    if isinstance(key, np.ndarray) and key.dtype.kind == "f":
        return key.astype(np.int64)
    return list(key) if isinstance(key, range) else key


def _extents(subscripts: Any, operands: Sequence[Any]) -> list[tuple[str, int]]:
    if not isinstance(subscripts, str) or not all(isinstance(o, np.ndarray) for o in operands):
        raise CannotCompute("an unusual einsum")
    groups = subscripts.replace(" ", "").partition("->")[0].split(",")
    return [
        pair
        for group, operand in zip(groups, operands, strict=False)
        for pair in zip(group.replace(".", ""), operand.shape[-len(group.replace(".", "")) :], strict=False)
    ]
