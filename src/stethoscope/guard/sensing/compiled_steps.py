"""Notices steps that run inside compiled code, where Guard's hooks on the optimizer are traced to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim import Optimizer


class CompiledSteps:
    """Whether an optimizer stepped inside compiled code since `seen` was last cleared.

    The compiler keeps the assignment as the one thing that the hook does: it adds no graph break, and nothing
    is compiled again.
    """

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self.seen = False
        self._handles = [one.register_step_pre_hook(self._before) for one in optimizers]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    def _before(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            self.seen = True
