"""Numbers in float32, for what half precision cannot hold."""

from __future__ import annotations

import torch
from torch import Tensor


def precise(values: Tensor) -> Tensor:
    """Give the values in float32, or in float64 where they are in that already."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
