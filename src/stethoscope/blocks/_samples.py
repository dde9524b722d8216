"""How many samples a batch holds, whatever it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def first_length(batch: Any) -> int | None:
    """The length of the first tensor in a batch that has one, however deep it lies; None without one."""
    if isinstance(batch, Tensor):
        return len(batch) if batch.ndim else None
    inside = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, list | tuple) else ()
    )
    return next((length for one in inside if (length := first_length(one)) is not None), None)
