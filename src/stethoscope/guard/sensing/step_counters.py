"""Counts the steps of all parameters of a fused optimizer with one kernel instead of one for each of them.

Such an optimizer has a counter for every parameter. It adds one to all of them before a step, and where the
step may be skipped on the device it takes the flag off again behind it: on the host, that costs more than all
else that a skip needs. So the counters are laid side by side in memory, and both is done to all of them at
once. They stay what they were, a 0-dimensional tensor for each parameter, and count the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.optim import Optimizer

ADDS, SUBTRACTS = "_foreach_add_", "_foreach_sub_"  # looked up in torch by the fused optimizers at each step
STEP = "step"

Joined = dict[int, tuple[Tensor, list[Tensor]]]  # by the first counter, all in one tensor, and one by one
_joined: WeakKeyDictionary[Optimizer, Joined] = WeakKeyDictionary()


class StepCounters:
    """The step counters of a fused optimizer. Between `listen` and `leave` they are counted together.

    Whatever is not just that counting is done as torch does it.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._flag: Tensor | None = None
        self._joined = _joined.setdefault(optimizer, {})
        self._own: dict[str, Any] = {ADDS: self._added, SUBTRACTS: self._subtracted}
        self._torch: dict[str, Any] = {}  # what stood in their place

    def listen(self, flag: Tensor) -> None:
        """Wait for the counting of a step, which this flag takes back."""
        self._flag = flag
        for name, own in self._own.items():
            found = getattr(torch, name)
            if found is not own:
                self._torch[name] = found
                setattr(torch, name, own)

    def leave(self) -> None:
        """Leave torch as it was."""
        if self._flag is not None:
            self._flag = None
            for name, own in self._own.items():
                if getattr(torch, name) is own:
                    setattr(torch, name, self._torch[name])

    def _added(self, counters: Any, amount: Any, *args: Any, **kwargs: Any) -> None:
        is_counting = type(amount) is int and amount == 1 and not args and not kwargs
        together = self._together(counters) if is_counting else None
        if together is None:
            self._torch[ADDS](counters, amount, *args, **kwargs)
        else:
            together.add_(1)

    def _subtracted(self, counters: Any, others: Any, *args: Any, **kwargs: Any) -> None:
        flag = self._flag
        if flag is None or not _are_all(others, flag):
            self._torch[SUBTRACTS](counters, others, *args, **kwargs)
            return
        together = self._together(counters)
        if together is None:
            self._torch[SUBTRACTS](counters, others, *args, **kwargs)
            self._join(counters)
        else:
            together.sub_(flag)

    def _together(self, counters: Any) -> Tensor | None:
        """These counters side by side, where they are."""
        if not isinstance(counters, list) or not counters:
            return None
        together, parts = self._joined.get(id(counters[0]), (None, ()))
        is_whole = len(parts) == len(counters) and all(map(is_, parts, counters))
        return together if is_whole else None

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
