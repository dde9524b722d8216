"""Fails where a tensor is read by the host, as that would make training wait for the device."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

READS = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.is_nonzero.default,
    torch.ops.aten.equal.default,
    torch.ops.aten.nonzero.default,
}


class NoWaiting(TorchDispatchMode):
    """Raises at `.item()`, `bool(tensor)` and everything else that a device would have to be waited for."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READS:
            raise AssertionError(f"{func} reads a tensor on the host")
        return func(*args, **(kwargs or {}))
