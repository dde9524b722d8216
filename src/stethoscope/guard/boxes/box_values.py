"""Values as JSON and tensors: nothing in them can run when they are read.

A node is an object with one of these keys: value, float, tensor, sparse, list, tuple, dict, record, dtype,
device, left_out. What has no such form is named as left out, and reading it gives a `LeftOut`.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from torch import Tensor

from stethoscope.errors import UnreadableFile
from stethoscope.guard.boxes.tensor_file import NAMES
from stethoscope.guard.culprit.within import DEEPEST, MOST_ITEMS

Node = Mapping[str, Any]
DTYPES = {
    str(one).removeprefix("torch."): one for one in vars(torch).values() if isinstance(one, torch.dtype)
}
DEEPEST_NODE = 4 * DEEPEST


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Stands where a value was that a black box cannot hold."""

    kind: str


class Shelf:
    """Collects the tensors of one file; a tensor that comes twice is kept once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.left_out: list[str] = []
        self._known: dict[tuple[object, ...], str] = {}

    @property
    def bytes(self) -> int:
        """The size of what was collected."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def put(self, name: str, tensor: Tensor) -> str:
        """Take a dense tensor of a plain type, and give the name under which it is kept."""
        place = (tensor.data_ptr(), tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride())
        known = self._known.get(place) if tensor.numel() else None
        if known is not None:
            return known
        while name in self.tensors:  # the keys 'a.b' and 'a' then 'b' give one name
            name += "~"
        self.tensors[name] = tensor
        self._known[place] = name
        return name


def encode(value: Any, name: str, shelf: Shelf, depth: int = 0) -> Node:
    """The value as a node; its tensors go to the shelf, under names that begin with `name`."""
    if isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return {"value": value}
    if isinstance(value, float):
        return {"value": value} if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Tensor):
        return _encoded_tensor(value, name, shelf)
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub" and value.dtype.isnative:
        return {**_encoded_tensor(torch.from_numpy(value.copy()), name, shelf), "numpy": True}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if depth < DEEPEST:
        node = _encoded_container(value, name, shelf, depth)
        if node is not None:
            return node
    return _left_out(value, name, shelf)


def decode(node: Any, tensors: Mapping[str, Tensor], place: Callable[[Tensor, str], Tensor]) -> Any:
    """The value of a node; `place` puts a tensor on its device. Raises UnreadableFile for what is no node."""
    try:
        return _decoded(node, tensors, place, 0)
    except UnreadableFile:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError, IndexError, OverflowError) as problem:
        raise UnreadableFile(
            f"a value in it cannot be read: {type(problem).__name__}: {problem}"
        ) from problem


def _encoded_tensor(tensor: Tensor, name: str, shelf: Shelf) -> Node:
    to_local = getattr(tensor, "to_local", None)
    grad = {"grad": True} if tensor.requires_grad else {}
    tensor = tensor.detach() if to_local is None else to_local().detach()
    if tensor.is_meta or tensor.is_quantized or tensor.is_nested or tensor.is_mkldnn:
        return _left_out(tensor, name, shelf)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
        parts = {
            "indices": _encoded_tensor(tensor.indices(), f"{name}.indices", shelf),
            "values": _encoded_tensor(tensor.values(), f"{name}.values", shelf),
        }
        return {"sparse": parts, "shape": list(tensor.shape)}
    if tensor.layout is not torch.strided:
        return _left_out(tensor, name, shelf)
    about = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), **grad}
    device = {} if tensor.device.type == "cpu" else {"on": tensor.device.type}
    if tensor.dtype not in NAMES:
        flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
        tensor = flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)
    return {"tensor": shelf.put(name, tensor), **about, **device}


def _encoded_container(value: Any, name: str, shelf: Shelf, depth: int) -> Node | None:
    if isinstance(value, Mapping):
        if not all(key is None or isinstance(key, (str, int, bool)) for key in value):
            return None
        items = [[key, encode(part, f"{name}.{key}", shelf, depth + 1)] for key, part in value.items()]
        return {"dict": items} if type(value) is dict else {"dict": items, "was": _kind(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _encoded_record(value, value._fields, name, shelf, depth)
    if isinstance(value, (list, tuple)) and len(value) <= MOST_ITEMS:
        parts = [encode(part, f"{name}.{number}", shelf, depth + 1) for number, part in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": parts}
    if is_dataclass(value) and not isinstance(value, type):
        return _encoded_record(value, [one.name for one in fields(value)], name, shelf, depth)
    return None


def _encoded_record(value: Any, names: Sequence[str], name: str, shelf: Shelf, depth: int) -> Node:
    parts = [[key, encode(getattr(value, key, None), f"{name}.{key}", shelf, depth + 1)] for key in names]
    return {"record": parts, "was": _kind(value), "tuple_like": isinstance(value, tuple)}


def _left_out(value: Any, name: str, shelf: Shelf) -> Node:
    kind = _kind(value)
    shelf.left_out.append(f"{name} ({kind})")
    return {"left_out": kind}


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _decoded(
    node: Any, tensors: Mapping[str, Tensor], place: Callable[[Tensor, str], Tensor], depth: int
) -> Any:
    if not isinstance(node, dict) or depth > DEEPEST_NODE:
        raise UnreadableFile("a value in it has no form that is known")

    def inner(part: Any) -> Any:
        return _decoded(part, tensors, place, depth + 1)

    if "tensor" in node:
        return _decoded_tensor(node, tensors, place)
    if "sparse" in node:
        indices, values = inner(node["sparse"]["indices"]), inner(node["sparse"]["values"])
        return torch.sparse_coo_tensor(indices, values, node["shape"], check_invariants=True)
    if "list" in node:
        return [inner(part) for part in node["list"]]
    if "tuple" in node:
        return tuple(inner(part) for part in node["tuple"])
    if "dict" in node:
        return {key: inner(part) for key, part in node["dict"]}
    if "record" in node:
        return _decoded_record([(str(key), inner(part)) for key, part in node["record"]], node)
    return _decoded_leaf(node)


def _decoded_leaf(node: dict[str, Any]) -> Any:
    if "value" in node:
        value = node["value"]
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise UnreadableFile("a plain value in it is not plain")
        return value
    if "float" in node:
        return float(node["float"])
    if "dtype" in node:
        return DTYPES[node["dtype"]]
    if "device" in node:
        return torch.device(node["device"])
    if "left_out" in node:
        return LeftOut(str(node["left_out"]))
    raise UnreadableFile("a value in it has no form that is known")


def _decoded_tensor(
    node: dict[str, Any], tensors: Mapping[str, Tensor], place: Callable[[Tensor, str], Tensor]
) -> Any:
    stored, dtype, shape = tensors[node["tensor"]], DTYPES[node["dtype"]], [int(one) for one in node["shape"]]
    if stored.dtype != dtype:
        if dtype in NAMES or stored.dtype is not torch.uint8:
            raise UnreadableFile(f"the tensor {node['tensor']} is {stored.dtype} and should be {dtype}")
        stored = stored.view(dtype) if stored.numel() else stored.new_empty(0, dtype=dtype)
    if stored.numel() != math.prod(shape):
        raise UnreadableFile(f"the tensor {node['tensor']} does not have the shape {shape}")
    tensor = stored.reshape(shape)
    if node.get("numpy") is True:
        return tensor.numpy()
    tensor = place(tensor, str(node.get("on", "cpu")))
    differentiable = tensor.is_floating_point() or tensor.is_complex()
    return tensor.requires_grad_() if node.get("grad") is True and differentiable else tensor


def _decoded_record(parts: list[tuple[str, Any]], node: dict[str, Any]) -> Any:
    """A record with the same names; its class is somebody's code, which is not run to read a file."""
    if node.get("tuple_like") is True:
        made = namedtuple("Record", [key for key, _ in parts])  # type: ignore[misc]
        return made(*(part for _, part in parts))
    return SimpleNamespace(**dict(parts))
