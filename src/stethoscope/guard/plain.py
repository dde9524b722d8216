"""Frozen records as plain values and back: dicts, lists, numbers, words. Exact, and without pickle."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

Record = TypeVar("Record")


def to_plain(value: Any) -> Any:
    """A record, with all that it holds, as values that JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [to_plain(one) for one in value]
    return value


def from_plain(kind: type[Record], plain: Any) -> Record:
    """A record from its plain form; what is missing takes its default. ValueError where the form is wrong."""
    record: Record = _built(kind, plain, kind.__name__)
    return record


def _built(kind: Any, plain: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [one for one in typing.get_args(kind) if one is not type(None)]
        return None if plain is None else _built(inner[0], plain, where)
    if origin is tuple:
        return _tuple(typing.get_args(kind), plain, where)
    if is_dataclass(kind):
        return _record(kind, plain, where)
    if kind is float and isinstance(plain, int | float) and not isinstance(plain, bool):
        return float(plain)
    if isinstance(plain, kind) and not (kind is int and isinstance(plain, bool)):
        return plain
    raise ValueError(f"{where} is {plain!r}; expected {kind.__name__}")


def _tuple(kinds: tuple[Any, ...], plain: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(plain, list | tuple):
        raise ValueError(f"{where} is {plain!r}; expected a list")
    each = [kinds[0]] * len(plain) if kinds[-1] is Ellipsis else list(kinds)
    if len(each) != len(plain):
        raise ValueError(f"{where} has {len(plain)} values; expected {len(each)}")
    return tuple(
        _built(kind, one, f"{where}[{at}]") for at, (kind, one) in enumerate(zip(each, plain, strict=True))
    )


def _record(kind: Any, plain: Any, where: str) -> Any:
    if not isinstance(plain, Mapping):
        raise ValueError(f"{where} is {plain!r}; expected an object")
    hints = _hints(kind)
    unknown = set(plain) - set(hints)
    if unknown:
        raise ValueError(f"{where} holds {', '.join(sorted(map(str, unknown)))}, which is not known here")
    try:
        return kind(**{name: _built(hints[name], one, f"{where}.{name}") for name, one in plain.items()})
    except TypeError as problem:
        raise ValueError(f"{where} is incomplete: {problem}") from problem


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
