"""Keeps the running statistics of a network from a batch that was not finite.

A skipped step leaves the weights alone, but the forward pass before it has already changed what batch norms
remember: one NaN there stays for good, and every evaluation after it is NaN. Training does not use these
statistics, so they are mended afterwards, from a copy that was made before the bad step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from stethoscope.guard.sensing.finite import MEASURED

KEPT = 5  # copies, a window apart; a step is judged at most three windows later
MOST_NUMBERS = 1 << 24  # larger buffers are tables, not statistics


class KeptBuffers:
    """Copies of the buffers that a forward pass changes."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        named = {id(b): b for module in modules for b in module.buffers()}
        self._changing = [b for b in named.values() if _is_statistic(b)]
        self._lazy = [b for b in named.values() if nn.parameter.is_lazy(b)]
        self._is_narrowed = False
        self._copies: deque[tuple[int, list[Tensor]]] = deque(maxlen=KEPT)

    def __bool__(self) -> bool:
        return bool(self._changing or self._lazy)

    @torch.no_grad()
    def keep(self, step: int) -> None:
        """Copy what changes; called before the forward pass of a step."""
        if self._lazy:
            self._take_in()
        if self._copies and not self._is_narrowed:
            self._narrow()
        if len(self._copies) == KEPT:
            copies = self._copies.popleft()[1]
            torch._foreach_copy_(copies, self._changing)
        else:
            copies = [buffer.clone() for buffer in self._changing]
        self._copies.append((step, copies))

    @torch.no_grad()
    def mend(self, bad_step: int) -> int:
        """Give buffers that are not finite the values from before a bad step; this waits for the device."""
        before = [copies for step, copies in self._copies if step <= bad_step]
        mended = 0
        for at, buffer in enumerate(self._changing):
            if not bool(torch.isfinite(buffer).all()):
                good = next((c[at] for c in reversed(before) if bool(torch.isfinite(c[at]).all())), None)
                if good is not None:
                    buffer.copy_(good)
                    mended += 1
        return mended

    def _take_in(self) -> None:
        """Begin anew with the buffers that the first call of the model has made."""
        made = [buffer for buffer in self._lazy if not nn.parameter.is_lazy(buffer)]
        if made:
            self._lazy = [buffer for buffer in self._lazy if nn.parameter.is_lazy(buffer)]
            self._changing += [buffer for buffer in made if _is_statistic(buffer)]
            self._copies.clear()

    def _narrow(self) -> None:
        """Keep only what the first window has changed: this waits for the device, once in a training."""
        self._is_narrowed = True
        step, copies = self._copies.pop()
        pairs = [(b, c) for b, c in zip(self._changing, copies, strict=True) if not torch.equal(b, c)]
        self._changing = [buffer for buffer, _ in pairs]
        self._copies.append((step, [copy for _, copy in pairs]))


def _is_statistic(buffer: Tensor) -> bool:
    return (
        not nn.parameter.is_lazy(buffer)
        and buffer.dtype in MEASURED
        and not buffer.is_meta
        and not buffer.is_sparse
        and not hasattr(buffer, "to_local")
        and 0 < buffer.numel() <= MOST_NUMBERS
    )
