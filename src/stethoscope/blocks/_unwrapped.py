"""The model inside what DDP, DataParallel and torch.compile wrap around it, and its names without theirs."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

COMPILED = "_orig_mod."


def unwrapped(model: nn.Module) -> nn.Module:
    """The innermost model, whichever wrappers are around it and in whichever order."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if isinstance(model, DataParallel | DistributedDataParallel):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def plain_name(name: str) -> str:
    """A name of a tensor without what torch.compile adds, also to modules further inside."""
    return name.replace(COMPILED, "")


def named_state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers that a checkpoint of the model would hold, each once, with plain names."""
    seen: set[int] = set()
    named: dict[str, Tensor] = {}
    for name, tensor in unwrapped(model).state_dict(keep_vars=True).items():
        if isinstance(tensor, Tensor) and id(tensor) not in seen:
            seen.add(id(tensor))
            named[plain_name(name)] = tensor
    return named
