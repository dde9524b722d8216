"""What happens to a process from outside: a function each, called behind an update of the weights."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import torch

Hook = Callable[[torch.optim.Optimizer, int], None]

SLOWER = 0.05  # seconds for each step of a machine that has become slow


def flipped_bit(optimizer: torch.optim.Optimizer, behind: int) -> None:
    """A high bit of one weight flips, as in memory that fails."""
    if behind:
        return
    weight = max((p for group in optimizer.param_groups for p in group["params"]), key=lambda p: p.numel())
    with torch.no_grad():
        weight.view(-1)[weight.numel() // 2] *= 2.0**24


def slowed(optimizer: torch.optim.Optimizer, behind: int) -> None:
    """Every later step takes longer."""
    time.sleep(SLOWER)


def lost_gradients(optimizer: torch.optim.Optimizer, behind: int) -> None:
    """The weights go back to where they were: the updates of this process are lost from here on."""
    kept = _KEPT.setdefault(id(optimizer), [])
    weights = [p for group in optimizer.param_groups for p in group["params"]]
    if not kept:
        kept.extend(p.detach().clone() for p in weights)
    with torch.no_grad():
        for weight, old in zip(weights, kept, strict=True):
            weight.copy_(old)


_KEPT: dict[int, list[torch.Tensor]] = {}
DISTURBANCES: dict[str, Hook] = {
    "flipped-bit": flipped_bit,
    "slowed": slowed,
    "lost-gradients": lost_gradients,
}


def disturb(name: str, at: int) -> None:
    """Let a disturbance happen from this update on."""
    _behind_update(at, DISTURBANCES[name])


def kill(at: int) -> None:
    """End this process, without a word, behind this update."""
    _behind_update(at, lambda optimizer, behind: os.kill(os.getpid(), signal.SIGKILL))


def _behind_update(at: int, hook: Hook) -> None:
    made = 0

    def count(optimizer: torch.optim.Optimizer, *given: Any) -> None:
        nonlocal made
        made += 1
        if made >= at:
            hook(optimizer, made - at)

    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(count)
