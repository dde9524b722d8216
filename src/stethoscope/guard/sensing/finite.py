"""Whether tensors are finite: one flag for all of them without waiting, and by name where one is not.

Whole numbers, tensors without storage (meta) and empty ones are finite. Of a tensor that is spread over
ranks, this rank's share is looked at, and nobody is asked; of a sparse one, the values that it stores.

A tensor may hold infinities that nobody computed: a mask, or a best score that no score has beaten yet.
`is_placeholder` knows those by their look, and only the searches by name ask it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

# Norms are computed for these; what has eight bits or fewer is widened first.
MEASURED = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})
FOUR_BITS = "float4"  # holds neither NaN nor infinity, and nothing can be computed in it
MOST_NAMED = 8  # tensors; who knows eight bad ones knows where to look
DEEPEST = 100  # levels of nesting; a state that goes deeper leads back to itself


class Bad(NamedTuple):
    """A tensor that is not finite: `kind` is "NaN", "inf" or "NaN and inf", `number` how many values are."""

    name: str
    kind: str
    number: int


@torch.no_grad()
def all_finite(tensors: Iterable[Tensor]) -> Tensor:
    """Whether every value of all tensors is finite: one boolean on their device, which nobody waits for.

    Where the tensors are on several devices, it is on the first one that is not the CPU.
    """
    flags = [torch.isfinite(torch.stack(list(norms))).all() for norms in _norms_by_group(tensors)]
    if not flags:
        return torch.ones((), dtype=torch.bool, device="cpu")
    home = next((flag.device for flag in flags if flag.device.type != "cpu"), flags[0].device)
    return torch.stack([_brought(flag, home) for flag in flags]).all()


@torch.no_grad()
def first_bad(
    named: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]], most: int = MOST_NAMED
) -> list[Bad]:
    """The first tensors that are not finite, in the order given; this waits for the device."""
    pairs = list(named.items() if isinstance(named, Mapping) else named)
    found: list[Bad] = []
    for name, tensor in pairs if not _is_well(pairs) else ():
        bad = counted(name, tensor)
        if bad is not None:
            found.append(bad)
        if len(found) == most:
            break
    return found


def bad_in_state(state: Any, most: int = MOST_NAMED, excused: Iterable[str] = ()) -> list[Bad]:
    """The first tensors of a nested state that are not finite and should be.

    Plain numbers are not looked at: a best loss of infinity is how many a training begins. Nor are tensors
    that look like a mask or a score that is still to come. `excused` are names, or the ends of names, of
    tensors that may hold what they like.
    """
    ends = tuple(excused)
    looked_at = [(name, one) for name, one in named_tensors(state) if not _is_excused(name, ends)]
    if _is_well(looked_at):
        return []
    found: list[Bad] = []
    for name, tensor in looked_at:
        bad = counted(name, tensor)
        if bad is not None and not is_placeholder(tensor):
            found.append(bad)
        if len(found) == most:
            break
    return found


def named_tensors(state: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """The tensors of nested dicts, lists, tuples, sets and dataclasses, each with its dotted name."""
    if isinstance(state, Tensor):
        yield name, state
        return
    if depth < DEEPEST:
        for key, value in _inside(state):
            yield from named_tensors(value, f"{name}.{key}" if name else str(key), depth + 1)


@torch.no_grad()
def counted(name: str, tensor: Tensor) -> Bad | None:
    """How many values of a tensor are not finite, and of which kind; None where all are."""
    nans = infinities = 0
    for part in _measurable(tensor):
        nans += int(torch.isnan(part).sum())
        infinities += int(torch.isinf(part).sum())
    if not nans and not infinities:
        return None
    kind = "NaN and inf" if nans and infinities else "NaN" if nans else "inf"
    return Bad(name, kind, nans + infinities)


@torch.no_grad()
def is_placeholder(tensor: Tensor) -> bool:
    """Whether infinities look written rather than computed: of one sign, beside at most one other value.

    Weights that were destroyed hold NaN, or infinities of both signs, or numbers that differ.
    """
    seen: set[float] = set()
    for part in _measurable(tensor):
        values = torch.unique(part)
        if values.numel() > 2:
            return False
        seen |= {float(value) for value in values}
    infinities = [value for value in seen if math.isinf(value)]
    return len(infinities) == 1 and len(seen) <= 2 and not any(map(math.isnan, seen))


def infinite_by_design(model: nn.Module) -> frozenset[str]:
    """The names of buffers that are not finite before training, as masks; this waits for the device."""
    buffers = [(name, one) for name, one in model.named_buffers() if not nn.parameter.is_lazy(one)]
    return frozenset(bad.name for bad in first_bad(buffers, most=len(buffers)))


def plain_parts(tensor: Tensor) -> Iterator[Tensor]:
    """The tensors that hold a tensor's values: itself, this rank's share of it, or what it wraps."""
    # What is spread over ranks, and the result of a collective that may still be under way.
    own = getattr(tensor, "to_local", None) or getattr(tensor, "trigger_wait", None)
    if own is not None:
        yield from plain_parts(own())
    elif hasattr(tensor, "__tensor_flatten__"):
        for attribute in tensor.__tensor_flatten__()[0]:
            yield from plain_parts(getattr(tensor, attribute))
    elif tensor.is_nested:
        for one in tensor.unbind():
            yield from plain_parts(one)
    else:
        yield tensor.detach()


def _inside(state: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(state, Mapping):
        return [(_key(key, at), value) for at, (key, value) in enumerate(state.items())]
    if isinstance(state, list | tuple | set | frozenset):
        return enumerate(state)
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        fields = dataclasses.fields(state)
        return [(field.name, getattr(state, field.name, None)) for field in fields]
    return ()


def _key(key: Any, at: int) -> Any:
    # The state of a live optimizer is keyed by the parameters themselves.
    return at if isinstance(key, Tensor) else key


def _is_excused(name: str, ends: tuple[str, ...]) -> bool:
    return any(name == end or name.endswith(f".{end}") for end in ends)


def _is_well(named: Sequence[tuple[str, Tensor]]) -> bool:
    """One look at all of them, which is far cheaper than one at each."""
    return bool(all_finite(tensor for _, tensor in named))


def _norms_by_group(tensors: Iterable[Tensor]) -> Iterator[Sequence[Tensor]]:
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for tensor in tensors:
        for part in _measurable(tensor):
            groups.setdefault((part.device, part.dtype), []).append(part)
    for group in groups.values():
        yield _norms(group)


def _norms(group: list[Tensor]) -> Sequence[Tensor]:
    """One number per tensor that is finite where all of its values are."""
    if group[0].device.type == "cpu":
        # Many times faster there, and nobody waits; that it may overflow is seen by the look below.
        norms = torch._foreach_norm(group, 2)
        if bool(torch.isfinite(torch.stack(list(norms))).all()):
            return norms
    # The largest magnitude cannot overflow, and it is NaN where one value is.
    return torch._foreach_norm(group, math.inf)


def _measurable(tensor: Tensor) -> Iterator[Tensor]:
    """The parts of a tensor that can hold something not finite, as dense real numbers."""
    for part in plain_parts(tensor):
        stored = _stored(part)
        if stored.is_complex():
            # A number and its conjugate are finite together, and the lazy one cannot be seen as two reals.
            stored = torch.view_as_real(stored.conj() if stored.is_conj() else stored)
        if not stored.dtype.is_floating_point or stored.is_meta or not stored.numel():
            continue
        if FOUR_BITS in str(stored.dtype):
            continue
        yield stored if stored.dtype in MEASURED else stored.to(torch.float32)


def _stored(part: Tensor) -> Tensor:
    if part.layout is torch.strided:
        return part
    if part.layout is torch.sparse_coo:
        return part._values()
    if part.layout is torch._mkldnn:  # type: ignore[attr-defined]
        return part.to_dense()
    return part.values()


def _brought(flag: Tensor, home: torch.device) -> Tensor:
    if flag.device == home:
        return flag
    if flag.device.type == "cpu":  # it is there already, and a number travels with the kernel
        return torch.full((), bool(flag), dtype=torch.bool, device=home)
    return flag.to(home, non_blocking=True)
