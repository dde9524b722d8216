"""Functions and methods of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments import arithmetic, first_weights
from stethoscope.program.experiments.running import Unlisted
from stethoscope.program.experiments.things import Array, Foreign, Spot, Weight
from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute
from stethoscope.program.walk.tensor_operations import compute, is_known

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

_SAME = frozenset({
    "contiguous", "clone", "detach", "detach_", "cuda", "cpu", "half", "float", "double", "bfloat16",
    "type_as",
    "requires_grad_", "float32", "to_dense", "pin_memory", "retain_grad",
})  # fmt: skip
_RANDOM = frozenset(
    {"randn", "rand", "normal", "rand_like", "randn_like", "randint", "randperm", "bernoulli"}
)


ACTIVATIONS = frozenset({"relu", "sigmoid", "tanh", "gelu", "silu"})
_ABOUT_STORAGE = frozenset(
    {"dtype", "device", "requires_grad", "generator", "out", "layout", "memory_format"}
)


def tensor_method(
    run: Interpreter,
    x: Array,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    spot: Spot | None,
) -> Any:
    """`x.name(...)`."""
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
        return computed(run, f"torch.{name}", name, [x, *args], keywords, spot, method=True)
    return computed(run, f".{name}", name, [x, *args], keywords, spot, method=True)


def computed(
    run: Interpreter,
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
        return _drawn(run, last, args, keywords)
    if "fft" in name and f"fft.{last}" in arithmetic.FUNCTIONS:
        last = f"fft.{last}"
    if last == "einsum":
        operands = args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
        run.spend(math.prod(dict(_extents(args[0], operands)).values()))
        run.watch.product(args[0], operands, spot) if spot else None
        return run.check(np.einsum(args[0].replace(" ", ""), *operands))
    if last in {"matmul", "bmm", "mm"}:
        return product(run, args[0], args[1], spot)
    if last in {"reshape", "view", "flatten", "unflatten"} and isinstance(args[0], np.ndarray):
        return _reshaped(run, last, args, keywords, spot)
    if "input" in keywords:
        args = [keywords.pop("input"), *args]
    if last in arithmetic.FUNCTIONS:
        result = arithmetic.FUNCTIONS[last](*args, **keywords)
    elif is_known(f".{last}") and method:
        result = compute(f".{last}", args, keywords)
    elif is_known(name):
        result = compute(name, args, keywords)
    elif last.endswith("_") and not last.startswith("_") and args and isinstance(args[0], np.ndarray):
        return _in_place(run, last, args, keywords)
    else:
        raise Unlisted(name)
    if last.rstrip("_") in ACTIVATIONS and args and isinstance(args[0], np.ndarray) and spot is not None:
        run.watch.activated(last.rstrip("_"), args[0], spot)
    if last == "scaled_dot_product_attention" and len(args) > 1:
        run.watch.attended(args[1].shape[-2])
    if last == "softmax" and spot is not None:
        axis = keywords.get("dim", args[1] if len(args) > 1 else -1)
        run.watch.softmax(result, -1 if axis is None else axis, spot)
    return run.check(_cast(run, result, kind))


def _drawn(run: Interpreter, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    if not run.making:
        return _held_still(run, last, args, keywords)
    if last == "randperm":
        return run.chance.permutation(int(args[0]))
    if last.endswith("_like") or last == "bernoulli":
        return run.chance.standard_normal(args[0].shape)
    if last == "normal":
        args = [keywords.get("size", args[-1] if args else ())]
    if last == "randint":
        sizes = keywords.get("size", args[-1])
        high = keywords.get("high", args[-2] if len(args) > 1 else 2)
        return run.chance.integers(0, int(high), tuple(sizes))
    sizes = args[0] if args and isinstance(args[0], list | tuple) else keywords.get("size", args)
    if math.prod(sizes) > LARGEST:
        return run.drawer.draw(*sizes)
    if run.as_written and last == "rand":
        return run.chance.uniform(size=tuple(int(s) for s in sizes))
    return run.chance.standard_normal(tuple(int(s) for s in sizes))


def _held_still(run: Interpreter, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    """Chance in a forward pass is the same everywhere, so that it tells no place from another."""
    run.drew = True
    if last in {"rand_like", "randn_like"}:
        return _held(run, args[0].shape)
    if last in {"rand", "randn"}:
        sizes = args[0] if args and isinstance(args[0], list | tuple) else keywords.get("size", args)
        return _held(run, tuple(int(s) for s in sizes))
    raise CannotCompute("chance decides")


def _held(run: Interpreter, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(5).uniform(size=shape) if run.is_lively else np.full(shape, 0.3)


def _cast(run: Interpreter, result: Any, kind: Any) -> Any:
    """A tensor in the type that it is made with."""
    if not isinstance(result, np.ndarray) or not isinstance(kind, Foreign):
        return result
    last = kind.name.rpartition(".")[2]
    if last == "bool":
        return result.astype(bool)
    if last in {"long", "int", "int64", "int32"}:
        return result.astype(np.int64)
    return result


def _in_place(run: Interpreter, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
    """`x.mul_(y)`: the tensor itself changes; what fills weights is left out."""
    target = args[0]
    plain = last[:-1]
    if isinstance(target, Weight) and run.making and not run.as_written:
        return target
    if run.as_written and first_weights.drawn_in_place(run, plain, target, args[1:], keywords):
        return target
    if plain == "zero":
        target[...] = 0
    elif plain in {"normal", "uniform"}:
        target[...] = run.chance.standard_normal(target.shape)
    elif plain == "copy":
        target[...] = args[1]
    elif plain == "unsqueeze":
        return np.expand_dims(target, args[1])
    else:
        target[...] = computed(run, f".{plain}", plain, args, keywords, None, method=True)
    return target


def product(run: Interpreter, left: Any, right: Any, spot: Spot | None) -> Any:
    """The product of two matrices, or of many."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        raise CannotCompute("no tensors")
    run.spend(left.size * right.shape[-1])
    if spot is not None:
        run.watch.product(None, (left, right), spot)
    return run.check(np.matmul(left, right))


def _reshaped(
    run: Interpreter, last: str, args: list[Any], keywords: dict[str, Any], spot: Spot | None
) -> Any:
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
        run.watch.reshape(x, after, spot)
    return after


def _extents(subscripts: Any, operands: Sequence[Any]) -> list[tuple[str, int]]:
    if not isinstance(subscripts, str) or not all(isinstance(o, np.ndarray) for o in operands):
        raise CannotCompute("an unusual einsum")
    groups = subscripts.replace(" ", "").partition("->")[0].split(",")
    return [
        pair
        for group, operand in zip(groups, operands, strict=False)
        for pair in zip(group.replace(".", ""), operand.shape[-len(group.replace(".", "")) :], strict=False)
    ]
