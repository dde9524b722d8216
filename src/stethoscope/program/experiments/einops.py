"""einops: rearrange, repeat and reduce with the patterns that programs use."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stethoscope.program.experiments.things import Array, Foreign, Partial, Spot
from stethoscope.program.walk.bounded_arrays import LARGEST, CannotCompute, TooLarge

if TYPE_CHECKING:
    from stethoscope.program.experiments.interpreter import Interpreter

_GROUP = re.compile(r"\(([^)]*)\)|(\S+)")
_REDUCTIONS: dict[str, Callable[..., Any]] = {"mean": np.mean, "sum": np.sum, "max": np.max, "min": np.min}


def einops_call(
    run: Interpreter, name: str, args: Sequence[Any], keywords: Mapping[str, Any], spot: Spot | None
) -> Any:
    """A function of einops, or one of its layers."""
    if name in {"Rearrange", "Reduce"}:
        return Partial(Foreign(f"einops.{name.lower()}_"), tuple(args), dict(keywords))
    if name in {"rearrange_", "reduce_"}:  # a layer's call: the tensor comes last
        *made, x = args
        return einops_call(run, name[:-1], [x, *made], keywords, spot)
    if name not in {"rearrange", "repeat", "reduce"} or not isinstance(args[0], np.ndarray | list):
        raise CannotCompute(f"einops.{name}")
    x = np.stack(args[0]) if isinstance(args[0], list) else args[0]
    sizes = {k: int(v) for k, v in keywords.items() if k != "reduction"}
    reduction = keywords.get("reduction", args[2] if len(args) > 2 else "mean")
    return _turned(x, args[1], sizes, reduction if name == "reduce" else "")


def _turned(x: Array, pattern: str, sizes: dict[str, int], reduction: str) -> Array:
    before, after = (_groups(side) for side in pattern.split("->"))
    before, after = _without_dots(before, after, x.ndim)
    if len(before) != x.ndim:
        raise CannotCompute("the pattern does not fit")
    sizes = {**sizes, **_sizes(before, x.shape, sizes)}
    names = [name for group in before for name in group]
    x = x.reshape([sizes[name] for name in names])
    wanted = [name for group in after for name in group]
    gone = [name for name in names if name not in wanted]
    if gone:
        if reduction:
            x = _REDUCTIONS[reduction](x, axis=tuple(names.index(name) for name in gone))
        elif any(sizes[name] != 1 for name in gone):
            raise CannotCompute("an axis is lost")
        else:
            x = np.squeeze(x, tuple(names.index(name) for name in gone))
        names = [name for name in names if name not in gone]
    for name in wanted:
        if name not in names:
            count = sizes.get(name, 1)
            if x.size * count > LARGEST:
                raise TooLarge("the array is too large")
            x = np.broadcast_to(x[..., None], (*x.shape, count))
            names.append(name)
    x = np.transpose(x, [names.index(name) for name in wanted])
    return x.reshape([math.prod(_size(n, sizes) for n in group) for group in after])


def _size(name: str, sizes: dict[str, int]) -> int:
    return sizes.get(name, 1)


def _groups(side: str) -> list[list[str]]:
    ones = iter(range(100))
    found = []
    for inside, alone in _GROUP.findall(side):
        words = inside.split() if inside or not alone else [alone]
        found.append([f"1#{next(ones)}" if word == "1" else word for word in words])
    return found


def _without_dots(
    before: list[list[str]], after: list[list[str]], ndim: int
) -> tuple[list[list[str]], list[list[str]]]:
    if not any(group == ["..."] for group in before):
        return before, after
    dots = [f"...{i}" for i in range(ndim - len(before) + 1)]

    def spread(groups: list[list[str]]) -> list[list[str]]:
        made: list[list[str]] = []
        for group in groups:
            if group == ["..."]:
                made.extend([dot] for dot in dots)
            else:
                made.append([n for name in group for n in (dots if name == "..." else [name])])
        return made

    return spread(before), spread(after)


def _sizes(groups: list[list[str]], shape: Sequence[int], given: dict[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for group, size in zip(groups, shape, strict=True):
        open_names = [name for name in group if name not in given and not name.startswith("1#")]
        known = math.prod(given.get(name, 1) for name in group if name not in open_names)
        found.update({name: 1 for name in group if name.startswith("1#")})
        if len(open_names) > 1 or size % known:
            raise CannotCompute("the pattern does not fit")
        if open_names:
            found[open_names[0]] = size // known
        elif known != size:
            raise CannotCompute("the pattern does not fit")
    return found
