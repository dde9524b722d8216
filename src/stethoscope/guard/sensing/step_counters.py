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

STEP = "step"

Joined = dict[int, tuple[Tensor, list[Tensor]]]  # by the first counter, all in one tensor, and one by one
_joined: WeakKeyDictionary[Optimizer, Joined] = WeakKeyDictionary()


class StepCounters:
    """The step counters of a fused optimizer. Between `listen` and `leave` they are counted together.

    Fused optimizers look `torch._foreach_add_` and `torch._foreach_sub_` up at each step. Whatever is not
    just that counting is done as torch does it.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._flag: Tensor | None = None
        self._joined = _joined.setdefault(optimizer, {})
        self._counting: tuple[list[Tensor], Tensor] | None = None  # what one was just added to
        self._torch: Any = torch  # its functions are replaced by those of the same meaning
        self._adds, self._subtracts = self._added, self._subtracted
        self._torch_adds: Any = None  # what stood in their place
        self._torch_subtracts: Any = None

    def listen(self, flag: Tensor) -> None:
        """Wait for the counting of a step, which this flag takes back."""
        self._flag = flag
        module = self._torch
        if module._foreach_add_ is not self._adds:
            self._torch_adds, module._foreach_add_ = module._foreach_add_, self._adds
        if module._foreach_sub_ is not self._subtracts:
            self._torch_subtracts, module._foreach_sub_ = module._foreach_sub_, self._subtracts

    def leave(self) -> None:
        """Leave torch as it was."""
        if self._flag is None:
            return
        self._flag = self._counting = None
        module = self._torch
        if module._foreach_add_ is self._adds:
            module._foreach_add_ = self._torch_adds
        if module._foreach_sub_ is self._subtracts:
            module._foreach_sub_ = self._torch_subtracts

    def _added(self, counters: Any, amount: Any, *args: Any, **kwargs: Any) -> None:
        is_counting = type(amount) is int and amount == 1 and not args and not kwargs
        together = self._together(counters) if is_counting else None
        if together is None:
            self._torch_adds(counters, amount, *args, **kwargs)
        else:
            together.add_(1)
            self._counting = counters, together

    def _subtracted(self, counters: Any, others: Any, *args: Any, **kwargs: Any) -> None:
        flag = self._flag
        if flag is None or not _are_all(others, flag):
            self._torch_subtracts(counters, others, *args, **kwargs)
        elif self._counting is not None and self._counting[0] is counters:
            self._counting[1].sub_(flag)
        elif (together := self._together(counters)) is not None:
            together.sub_(flag)
        else:
            self._torch_subtracts(counters, others, *args, **kwargs)
            self._join(counters)

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
