"""Tensors whose numbers are known: what calls, attributes and items of them give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stethoscope.program.walk.tensor_operations import CannotCompute, compute, compute_layer, index_array
from stethoscope.program.walk.values import Applied, Constant, Items, Leaf, Outside, Value


def computed_call(name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """What a function or method of torch gives for known arguments; None where that cannot be computed."""
    try:
        known = {key: concrete(value) for key, value in keywords.items() if key not in {"dtype", "device"}}
        result = compute(name, [concrete(arg) for arg in args], known)
    except CannotCompute:
        return None
    return wrapped(result.astype(bool) if _is_of_truths(keywords.get("dtype"), result) else result)


def _is_of_truths(dtype: Value | None, result: Any) -> bool:
    """Whether a call asks for an array of truths: `torch.eye(n, dtype=torch.bool)` picks elements."""
    return isinstance(dtype, Outside) and dtype.name == "torch.bool" and isinstance(result, np.ndarray)


def computed_layer(maker: Applied, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """What a layer gives, from the call that makes it and the arguments it is called with."""
    try:
        made = [concrete(arg) for arg in maker.args]
        made_keywords = {key: concrete(value) for key, value in maker.keywords.items()}
        given = [concrete(arg) for arg in args]
        known = {key: concrete(value) for key, value in keywords.items()}
        return wrapped(compute_layer(maker.callee, made, made_keywords, given, known))
    except CannotCompute:
        return None


def array_attribute(array: np.ndarray[Any, Any], name: str) -> Value:
    """`tensor.shape` and the like."""
    if name == "shape":
        return Items([Constant(size) for size in array.shape])
    known: dict[str, object] = {"ndim": array.ndim, "is_cuda": False, "requires_grad": False, "device": "cpu"}
    known |= {"dtype": "float32", "data": array, "T": array.T, "real": array.real, "imag": array.imag}
    known["sample"] = array  # of what a network of diffusers gives back
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
