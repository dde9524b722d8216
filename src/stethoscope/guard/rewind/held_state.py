"""Nested state with its tensors taken out, to be copied elsewhere, and put back in place.

`taken_out` walks dicts, lists and tuples; each tensor becomes a `Held` that says where among the copied
tensors its values are, and all other values are copied. `put_back` writes the values into the tensors that
are there, so that whoever holds on to them (optimizers, compiled graphs, communication buckets) sees them.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stethoscope.guard.rewind.host_copies import basis
from stethoscope.guard.sensing.finite import plain_parts

PLAIN = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device)
MAPPINGS = (dict, OrderedDict, defaultdict)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The place of a tensor's values among the copied tensors; `devices` are those its parts were on."""

    first: int
    devices: tuple[torch.device, ...]
    is_wrapper: bool


@dataclass(frozen=True, slots=True, eq=False)
class Aside:
    """A copy of a tensor that is not dense, which stays on its device."""

    tensor: Tensor


class NotHere:
    """Stands for a tensor without values; nothing is written where it stands."""


def taken_out(value: Any, tensors: list[Tensor]) -> Any:
    """The state with a mark for each tensor; their parts are added to `tensors`."""
    if isinstance(value, Tensor):
        return _held(value, tensors)
    if type(value) in MAPPINGS:
        return _like(value, {key: taken_out(one, tensors) for key, one in value.items()})
    if isinstance(value, list | tuple) and type(value).__module__ == "builtins":
        return type(value)(taken_out(one, tensors) for one in value)
    return _copied(value)


def put_back(current: Any, held: Any, copies: Sequence[Tensor]) -> Any:
    """What stands for `held`: the tensors, dicts and lists of `current` where they fit, else others."""
    if isinstance(held, NotHere):
        return current
    if isinstance(held, Held | Aside):
        return current if wrote_into(current, held, copies) else _made(held, copies)
    if type(held) in MAPPINGS:
        return _put_back_mapping(current, held, copies)
    if isinstance(held, list) and isinstance(current, list) and len(current) == len(held):
        current[:] = [put_back(now, one, copies) for now, one in zip(current, held, strict=True)]
        return current
    if isinstance(held, list | tuple) and type(held).__module__ == "builtins":
        return type(held)(put_back(None, one, copies) for one in held)
    return _copied(held)


@torch.no_grad()
def wrote_into(current: Any, held: Any, copies: Sequence[Tensor]) -> bool:
    """Write a tensor's values into the one that is there, and say whether that could be done."""
    if not isinstance(current, Tensor):
        return False
    if isinstance(held, Aside):
        if current.layout != held.tensor.layout or current.shape != held.tensor.shape:
            return False
        current.copy_(held.tensor)
        return True
    if not isinstance(held, Held) or not _is_dense(current):
        return False
    parts = [basis(part) for part in plain_parts(current)]
    values = copies[held.first : held.first + len(held.devices)]
    if [(one.shape, one.dtype) for one in parts] != [(one.shape, one.dtype) for one in values]:
        return False
    for part, value in zip(parts, values, strict=True):
        part.copy_(value)
    return True


def _held(tensor: Tensor, tensors: list[Tensor]) -> Held | Aside | NotHere:
    if tensor.is_meta or torch.nn.parameter.is_lazy(tensor):
        return NotHere()
    if not _is_dense(tensor):
        return Aside(tensor.detach().clone())
    parts = list(plain_parts(tensor))
    first = len(tensors)
    tensors += parts
    return Held(
        first,
        tuple(part.device for part in parts),
        is_wrapper=type(tensor) not in (Tensor, torch.nn.Parameter),
    )


def _is_dense(tensor: Tensor) -> bool:
    parts = [tensor] if tensor.layout is not torch.strided else list(plain_parts(tensor))
    return all(part.layout is torch.strided and not part.is_quantized for part in parts)


def _made(held: Held | Aside, copies: Sequence[Tensor]) -> Tensor:
    if isinstance(held, Aside):
        return held.tensor.clone()
    if held.is_wrapper or len(held.devices) != 1:
        raise ValueError("a tensor that is spread over ranks or wraps others cannot be made anew")
    return copies[held.first].detach().clone().to(held.devices[0])


def _put_back_mapping(current: Any, held: Any, copies: Sequence[Tensor]) -> Any:
    if type(current) is not type(held):
        return _like(held, {key: put_back(None, one, copies) for key, one in held.items()})
    for key in [key for key in current if key not in held]:
        del current[key]
    for key, one in held.items():
        current[key] = put_back(current.get(key), one, copies)
    return current


def _like(mapping: Any, values: dict[Any, Any]) -> Any:
    if type(mapping) is defaultdict:
        return defaultdict(mapping.default_factory, values)
    return type(mapping)(values)


def _copied(value: Any) -> Any:
    if isinstance(value, PLAIN):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # whatever it is (a lock, a file), it cannot be copied, and is shared
        return value
