"""Multiplies two branches, `activation(a) * b`, so that the result stays finite in half precision.

## What it does
`safe_gate` computes the activation and the product in float32 and hands on a result in the half type that
the next layer works in: that of the inputs, or that of autocast where it is on. Before it is rounded, the
product is multiplied by `scale` and held within `limit` (by default the largest number of the half type).
Where the limit was not reached, value and gradient are those of float32. Where it was, the gradient is 0,
as it is for any clamp. An infinity or NaN that *came in* goes out again: a fault upstream is not hidden.
Saturation is not hidden either: the function returns the number of elements that were held back, and the
module `GatedProduct` counts them over its calls, on the device and without waiting for it. Read
`saturated_share()` when you log.

## The failure it prevents
A gate multiplies two branches of about the same size, so its output grows with the *square* of the network:
at 256 on both sides the product is 65536, and the largest float16 is 65504. The feed-forward part of the
deblurring system computed `gelu(x1) * x2` in float16. Converting to float32 around the product does not
help: the next convolution is in the list of autocast, converts its input to float16, and there is infinity,
one layer later. Measured with 64 channels of standard deviation 150: 1 % of the products overflow, and half
of what the next 1 x 1 convolution gives is not finite, with or without the conversion; with this gate all of
it is. An overflow in the forward pass cannot be cured by the loss scale; every step is skipped.

## When not to use it
With bfloat16 the range is that of float32, and this is a plain product. It is a seat belt, not a cure: a
share of saturated elements that stays above 0 says that activations grow; put a norm (`image_norm`) before
the gate, or lower `scale`. What it costs: a float32 copy of both branches during the gate; a saturated
element teaches nothing, as its gradient is 0; the count is one more reduction; and each element saturated
is a wrong value, bent where it was broken. The layer after sums many elements, and at the limit of 65504 its
own sum can overflow (at a standard deviation of 300, in .03 % of its outputs). `limit=4096` leaves it a
factor of 16 and bends more; `scale=1/16` leaves as much and bends nothing, if the layer after learns, or is
given, weights 16 times as large.
Under activation checkpointing the forward pass runs twice and counts twice (the share stays right); under
DistributedDataParallel, which copies buffers from rank 0, the count is that of rank 0.

## Example

    import torch
    from stethoscope.blocks.gated_product import GatedProduct, safe_gate

    a, b = (300 * torch.randn(2, 2, 16, 8, 8)).half()
    product, saturated = safe_gate(a, b)
    gate = GatedProduct("gelu")
    print(gate(a, b).isfinite().all(), saturated, gate.saturated_share())

## References
- Dauphin et al., Language Modeling with Gated Convolutional Networks, 2017
- Kong et al., Efficient Frequency Domain-based Transformers for High-Quality Image Deblurring, 2023
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from stethoscope.blocks.fp32_island import fp32_island

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "relu": functional.relu,
    "identity": lambda x: x,
}


class Gated(NamedTuple):
    """The product, and how many of its elements were held at the limit."""

    product: Tensor
    saturated: Tensor


def safe_gate(
    a: Tensor, b: Tensor, activation: str = "gelu", *, scale: float = 1.0, limit: float | None = None
) -> Gated:
    """Give `activation(a) * b * scale`, finite in the half type of the inputs or of autocast."""
    _check(a, b, activation, scale, limit)
    carried = _carried(torch.promote_types(a.dtype, b.dtype), a.device.type)
    largest = torch.finfo(carried).max
    held, saturated = _held(a, b, activation, scale, largest if limit is None else min(limit, largest))
    return Gated(held.to(carried), saturated)


class GatedProduct(nn.Module):
    """`activation(a) * b`, finite in half precision, with a count of what was held back.

    `saturated` and `seen` are buffers that count elements since the last `reset()`; they are not saved.
    """

    saturated: Tensor
    seen: Tensor

    def __init__(self, activation: str = "gelu", *, scale: float = 1.0, limit: float | None = None) -> None:
        super().__init__()
        _check_settings(activation, scale, limit)
        self.activation = activation
        self.scale = scale
        self.limit = limit
        self.register_buffer("saturated", torch.zeros((), dtype=torch.int64), persistent=False)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Give the gated product, and count the elements that were held at the limit."""
        product, saturated = safe_gate(a, b, self.activation, scale=self.scale, limit=self.limit)
        self.saturated += saturated
        self.seen += product.numel()
        return product

    def saturated_share(self) -> Tensor:
        """Give the share of elements held at the limit since the last `reset()`, still on the device."""
        return self.saturated / self.seen.clamp(min=1)

    def reset(self) -> None:
        """Start counting anew."""
        self.saturated.zero_()
        self.seen.zero_()

    def extra_repr(self) -> str:
        """Say which activation is used, and what holds the product back."""
        limit = "that of the type" if self.limit is None else f"{self.limit:g}"
        return f"{self.activation}, scale={self.scale:g}, limit={limit}"


def _check(a: Tensor, b: Tensor, activation: str, scale: float, limit: float | None) -> None:
    _check_settings(activation, scale, limit)
    if a.shape != b.shape:
        raise ValueError(
            f"the branches have the shapes {tuple(a.shape)} and {tuple(b.shape)}; give equal ones."
        )
    if not (a.is_floating_point() and b.is_floating_point()):
        raise TypeError(f"the branches are of {a.dtype} and {b.dtype}; convert them to floating point first.")


def _check_settings(activation: str, scale: float, limit: float | None) -> None:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; give one of {', '.join(ACTIVATIONS)}.")
    if not scale > 0 or (limit is not None and not limit > 0):
        raise ValueError(f"scale is {scale} and limit {limit}; give numbers above 0.")


def _carried(given: torch.dtype, device: str) -> torch.dtype:
    """The type in which the result goes on: autocast's, where the next layer would convert to it anyway."""
    if given == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return given


@fp32_island
def _held(a: Tensor, b: Tensor, activation: str, scale: float, limit: float) -> tuple[Tensor, Tensor]:
    product = ACTIVATIONS[activation](a) * b * scale
    over = (product.abs() > limit) & a.isfinite() & b.isfinite()
    # Not `clamp` alone: it would turn an infinity that came in into a number that looks healthy.
    return torch.where(over, product.detach().clamp(-limit, limit), product), over.sum()
