"""Runs one part of a network in float32 while the rest trains in half precision.

## What it does
`fp32_island` wraps a function, `Fp32Island` a module. Both do two things, and both are needed: every
half-precision tensor among the arguments (also inside lists, tuples and dicts) is converted to float32,
*and* autocast is switched off inside. Without the second, the first matrix product or convolution converts
its float32 inputs back. Results stay in float32, or go back to the type of the arguments with
`cast_back=True`. float64, integers and everything that is no tensor pass as they are.

`Fp32Island` also keeps the parameters of its module in float32 when `model.half()` or
`model.to(torch.bfloat16)` is called on the network around it.

## The failure it prevents
float16 ends at 65504. A sum of 4096 numbers of size 100 is 409600, in float16 infinity, and no loss scale
cures an overflow in the *forward* pass: each one halves the scale until nothing is left of the gradients.
The deblurring system met this as its "scaler death spiral": attention by Fourier transform grew to the
end of float16, and with the transform in half precision the scale fell from 2^16 to 2^-41. An island
around the transform was the cure that held; a learning rate five times lower only postponed it. Calling
`.float()` on the inputs alone is the repair that people try: under autocast the next `linear` gives
float16 again, and infinity with it.

## When not to use it
Where the hardware has bfloat16, its range is that of float32 and most islands are not needed for range;
they still help where digits matter (long sums, small differences). An island costs twice the memory of
what is inside and the speed of float32. It cannot help what comes after: a result above 65504 becomes
infinity again in the next half-precision layer (see `gated_product`). On recent NVIDIA GPUs convolutions in
float32 still round their inputs to 10 bits (TF32): the range is that of float32, the digits are not, unless
`torch.backends.cudnn.allow_tf32 = False`. Containers other than list, tuple, named tuple and dict are handed
on as they are, with the tensors in them.

## Example

    import torch
    from stethoscope.blocks.fp32_island import Fp32Island, fp32_island


    @fp32_island
    def energy(x):
        return (x @ x.T).sum()


    attention = Fp32Island(torch.nn.Linear(64, 64), cast_back=True)
    x = torch.full((64, 64), 100.0, dtype=torch.float16)
    with torch.autocast("cpu", dtype=torch.float16):
        print(energy(x).isfinite(), attention(x).dtype)

## References
- `torch.autocast`, and its list of operations that run in float32
- Micikevicius et al., Mixed Precision Training, 2018
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, overload

import torch
from torch import Tensor, nn

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Switched off inside every island; the device types of the arguments come on top.
EVERYWHERE = frozenset({"cpu", "cuda"})
_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.complex32: torch.complex64,
}


@overload
def fp32_island(function: Callable[_P, _R], *, cast_back: bool = False) -> Callable[_P, _R]: ...


@overload
def fp32_island(
    function: None = None, *, cast_back: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def fp32_island(function: Callable[..., Any] | None = None, *, cast_back: bool = False) -> Callable[..., Any]:
    """Give a function that computes in float32, whatever autocast says; for use as a decorator."""
    if function is None:
        return partial(fp32_island, cast_back=cast_back)

    @wraps(function)
    def island(*args: Any, **kwargs: Any) -> Any:
        return _in_float32(function, args, kwargs, cast_back=cast_back)

    return island


class Fp32Island(nn.Module):
    """Runs a module in float32 inside a network that trains in half precision."""

    def __init__(self, module: nn.Module, *, cast_back: bool = False) -> None:
        super().__init__()
        self.module = module.float() if _has_halves(module) else module
        self.cast_back = cast_back

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module with its half-precision arguments in float32 and with autocast off."""
        return _in_float32(self.module, args, kwargs, cast_back=self.cast_back)

    def extra_repr(self) -> str:
        """Say whether results return to the type of the arguments."""
        return f"cast_back={self.cast_back}"

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Fp32Island:
        # `half()`, `bfloat16()` and `to(dtype)` come through here: the device may change, the type not.
        module: Any = super()  # torch gives this method no types
        module._apply(partial(_kept_wide, change=fn), recurse)
        return self


def _in_float32(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, cast_back: bool = False
) -> Any:
    """Call a function with its half-precision arguments in float32 and with autocast off."""
    given = [*_tensors(args), *_tensors(kwargs)]
    devices = sorted(EVERYWHERE | {tensor.device.type for tensor in given})
    result = _without_autocast(devices, function, _changed(args, _widened), _changed(kwargs, _widened))
    halves = [tensor.dtype for tensor in given if tensor.dtype in _WIDER and tensor.is_floating_point()]
    if not (cast_back and halves):
        return result
    return _changed(result, partial(_narrowed, dtype=halves[0]))


def _without_autocast(
    devices: list[str], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    # One context inside another, which torch.compile follows without a break of the graph.
    if not devices:
        return function(*args, **kwargs)
    with torch.autocast(devices[0], enabled=False):
        return _without_autocast(devices[1:], function, args, kwargs)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif _is_sequence(value):
        for item in value:
            yield from _tensors(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _tensors(item)


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if type(value) is dict:
        return {key: _changed(item, change) for key, item in value.items()}
    if not _is_sequence(value):
        return value
    items = [_changed(item, change) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _is_sequence(value: Any) -> bool:
    # A subclass may need other arguments than its items; only named tuples are known.
    return type(value) in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields"))


def _widened(tensor: Tensor) -> Tensor:
    """Give a half-precision tensor in float32 and any other as it is."""
    return tensor.to(_WIDER.get(tensor.dtype, tensor.dtype))


def _narrowed(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.dtype == torch.float32 else tensor


def _has_halves(module: nn.Module) -> bool:
    return any(tensor.dtype in _WIDER for tensor in (*module.parameters(), *module.buffers()))


def _kept_wide(tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    changed = change(tensor)
    if changed.dtype in _WIDER and tensor.dtype not in _WIDER:
        return tensor.to(changed.device)
    return changed
