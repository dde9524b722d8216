"""Takes back the count of a skipped step with one kernel instead of a hundred.

A fused optimizer that skips a step on the device has counted it already, and subtracts the flag from the
counter of every parameter. That costs the host more than all else that a skip needs, at every step. So the
counters are laid side by side in memory once, and the one subtraction is done on all of them together. They
stay what they were: a 0-dimensional tensor for each parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

SUBTRACTS = "_foreach_sub_"  # looked up in torch by the fused optimizers each time they are called
STEP = "step"


class StepCounters:
    """The step counters of a fused optimizer. Between `listen` and `leave` a flag is taken from all at once.

    Whatever is not just that subtraction is done as torch does it.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._flag: Tensor | None = None
        self._joined: dict[int, tuple[Tensor, list[Tensor]]] = {}  # by the first of them
        self._subtract: Any = None  # as torch does it
        self._listener = self._heard

    def listen(self, flag: Tensor) -> None:
        """Wait for the subtraction of this flag."""
        self._flag = flag
        found = getattr(torch, SUBTRACTS)
        if found is not self._listener:
            self._subtract = found
            setattr(torch, SUBTRACTS, self._listener)

    def leave(self) -> None:
        """Leave torch as it was."""
        self._flag = None
        if getattr(torch, SUBTRACTS) is self._listener:
            setattr(torch, SUBTRACTS, self._subtract)

    def _heard(self, counters: Any, others: Any, *args: Any, **kwargs: Any) -> None:
        flag = self._flag
        if flag is None or not _are_all(others, flag):
            self._subtract(counters, others, *args, **kwargs)
            return
        together, parts = self._joined.get(id(counters[0]), (None, ()))
        if together is not None and len(parts) == len(counters) and all(map(is_, parts, counters)):
            together.sub_(flag)
        else:
            self._subtract(counters, others, *args, **kwargs)
            self._join(counters)

    def _join(self, counters: Sequence[Tensor]) -> None:
        """Lay counters side by side, where each is the optimizer's own."""
        states = {id(state[STEP]): state for state in self._optimizer.state.values() if STEP in state}
        if not all(id(counter) in states for counter in counters):
            return
        together = torch.stack(list(counters))
        parts = [together[at] for at in range(len(counters))]
        for counter, part in zip(counters, parts, strict=True):
            states[id(counter)][STEP] = part
        self._joined[id(parts[0])] = together, parts


def _are_all(others: Any, flag: Tensor) -> bool:
    return isinstance(others, list) and bool(others) and others[0] is flag and others[-1] is flag
