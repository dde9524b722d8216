"""The size of a tensor's values, and how many of them are not finite; it waits for the device."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

MOST_ROWS = 64  # row numbers that are listed; beyond that the whole batch is meant


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts of a tensor's values, and the largest finite magnitude among them.

    `low_infs` are those of the infinite values that are below zero.
    """

    numbers: int
    nans: int
    infs: int
    low_infs: int
    largest: float

    @property
    def finite(self) -> bool:
        """Whether every value is a finite number."""
        return not self.nans and not self.infs

    @property
    def is_mask(self) -> bool:
        """Whether it is a mask to add: minus infinity where it hides something, zero elsewhere."""
        return not self.nans and self.infs > 0 and self.infs == self.low_infs and self.largest == 0.0

    @property
    def bad_share(self) -> float:
        """The share of values that are not finite."""
        return (self.nans + self.infs) / self.numbers if self.numbers else 0.0

    @property
    def kind(self) -> str:
        """The worst there is: "nan", "inf" or "finite"."""
        return "nan" if self.nans else "inf" if self.infs else "finite"


FINE = Measure(0, 0, 0, 0, 0.0)


@torch.no_grad()
def measure(tensor: Tensor) -> Measure:
    """Measure the values of a tensor; whole numbers and tensors without values are fine."""
    values = readable(tensor)
    if values is None or values.numel() == 0:
        return FINE
    least, most = (float(one) for one in torch.aminmax(values))
    if math.isfinite(least) and math.isfinite(most):
        return Measure(values.numel(), 0, 0, 0, max(abs(least), abs(most)))
    finite = values[torch.isfinite(values)]
    infs = int(torch.isinf(values).sum())
    return Measure(
        values.numel(),
        int(torch.isnan(values).sum()),
        infs,
        int(torch.isneginf(values).sum()),
        float(finite.abs().max()) if finite.numel() else 0.0,
    )


@torch.no_grad()
def bad_rows(tensor: Tensor) -> tuple[int, ...]:
    """The places along the first dimension that hold something that is not finite."""
    values = readable(tensor)
    if values is None or values.dim() == 0 or tensor.layout is not torch.strided or values.numel() == 0:
        return ()
    bad = ~torch.isfinite(values)
    rows = bad.reshape(bad.shape[0], -1).any(dim=1).nonzero().flatten()
    return tuple(int(row) for row in rows[:MOST_ROWS])


def readable(tensor: Tensor) -> Tensor | None:
    """The floating-point values as a dense tensor that can be compared, or None where there are none."""
    if tensor.is_meta or tensor.is_quantized or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    tensor = tensor.detach()
    to_local = getattr(tensor, "to_local", None)
    if to_local is not None:
        tensor = to_local()
    if tensor.is_nested:
        tensor = tensor.values() if tensor.layout is torch.jagged else torch.cat(_flat(tensor))
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    elif tensor.layout is not torch.strided:
        tensor = tensor.to_dense() if tensor.is_mkldnn else tensor.values()
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj())
    return tensor if tensor.element_size() > 1 else tensor.float()  # few operations know 8-bit numbers


def _flat(nested: Tensor) -> list[Tensor]:
    return [part.flatten() for part in nested.unbind()]
