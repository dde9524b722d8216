"""The tensors inside what a model is given or gives back, however they are wrapped."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

DEEPEST = 8  # levels of wrapping; what is deeper is not an input any more
MOST_ITEMS = 10_000  # of one list; a longer one is data, not arguments


def tensors_within(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Every tensor inside `value`, named by the way to it: args[0], kwargs['x'], output.logits."""
    if isinstance(value, Tensor):
        yield name, value
    elif depth < DEEPEST:
        for step, part in _parts(value):
            yield from tensors_within(part, f"{name}{step}", depth + 1)


def mapped(value: Any, change: Callable[[Tensor], Tensor], depth: int = 0) -> Any:
    """The same value with every tensor changed; what cannot be rebuilt stays as it is."""
    if isinstance(value, Tensor):
        return change(value)
    if depth >= DEEPEST or not any(True for _ in tensors_within(value, "", depth)):
        return value
    if isinstance(value, Mapping):
        return _mapped_mapping(value, change, depth)
    if isinstance(value, (list, tuple)):
        parts = [mapped(part, change, depth + 1) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return replace(value, **{key: mapped(part, change, depth + 1) for key, part in named.items()})
    twin = copy.copy(value)
    for key, part in vars(twin).items():
        vars(twin)[key] = mapped(part, change, depth + 1)
    return twin


def _mapped_mapping(value: Mapping[Any, Any], change: Callable[[Tensor], Tensor], depth: int) -> Any:
    parts = {key: mapped(part, change, depth + 1) for key, part in value.items()}
    if type(value) is dict:
        return parts
    twin: Any = copy.copy(value)
    for key, part in parts.items():
        twin[key] = part
    return twin


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{key}", getattr(value, key)) for key in value._fields)
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{number}]", part) for number, part in enumerate(value[:MOST_ITEMS]))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((f".{one.name}", getattr(value, one.name, None)) for one in fields(value))
    elif _is_plain_object(value):
        yield from ((f".{key}", part) for key, part in list(vars(value).items()))


def _is_plain_object(value: Any) -> bool:
    """Whether it is an object of somebody's own class, such as a batch with tensors as attributes."""
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, (type, torch.nn.Module))
        and not callable(value)
        and type(value).__module__ not in {"builtins", "types"}
    )
