"""Collects what is seen of one step, on the device and on the host, into one row.

Nothing here waits for a device: losses and norms are kept as the tensors they are, and written as one row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.recall import called_modules
from stethoscope.guard.sensing.ring import Sight, sight

Amount = Tensor | float

SKIPPED = "skipped"
MOST_INPUTS = 4  # tensors of one batch that are looked at; further ones are masks and the like
RATIO_STEPS = 64  # updates between two measurements of the update ratio
RATIO_TENSORS = 16  # the largest ones ...
RATIO_NUMBERS = 1 << 16  # ... and so many numbers of each


@dataclass(slots=True, eq=False)
class Row:
    """One step in the making. `seen` are numbers on the device, `known` numbers on the host."""

    seen: dict[str, Sight | None] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)
    batches: int = 0
    stepped: set[int] = field(default_factory=set)  # the optimizers that have stepped

    def put(self, name: str, number: Tensor | float) -> None:
        """Put down a number, on the side where it is."""
        if isinstance(number, Tensor):
            self.seen[name] = sight(number)
        else:
            self.known[name] = number

    def add_loss(self, name: str, amount: Tensor | float) -> None:
        """Add the loss of one batch; those of several batches are averaged when the row is closed."""
        before = self.seen.get(name) if isinstance(amount, Tensor) else None
        if before is not None:
            amount = before.number + amount
        elif not isinstance(amount, Tensor):
            amount = self.known.get(name, 0.0) + amount
        self.put(name, amount)

    def average(self, names: Iterable[str]) -> None:
        """Make means of the sums over batches."""
        for name in names:
            total = self.seen.get(name)
            if total is not None:
                self.seen[name] = sight(total.number / self.batches)
            elif name in self.known:
                self.known[name] /= self.batches

    def skip(self, skipped: Tensor | float) -> None:
        """Put down whether an optimizer was kept from its step: one of several is enough."""
        before = self.seen.get(SKIPPED)
        if isinstance(skipped, Tensor):
            if self.known.get(SKIPPED, 0.0) == 0.0:
                self.known.pop(SKIPPED, None)
                self.seen[SKIPPED] = sight(
                    skipped if before is None else torch.maximum(before.number, skipped)
                )
        elif skipped or before is None:
            self.seen.pop(SKIPPED, None)
            self.known[SKIPPED] = max(skipped, self.known.get(SKIPPED, 0.0))


def on_host(amount: Amount) -> float:
    """A number as the host knows it; one on a device is waited for."""
    if not isinstance(amount, Tensor):
        return float(amount)
    return float((amount.detach().float().mean() if amount.dim() else amount).item())


def on_device(amount: Amount, device: torch.device) -> Tensor | float:
    """A number as float32 on a device, without the graph behind it; what the host knows is left there."""
    if not isinstance(amount, Tensor):
        return float(amount)
    if amount.requires_grad:
        amount = amount.detach()
    if amount.dim():
        amount = amount.float().mean()
    if amount.device != device and amount.device.type == "cpu":
        return float(amount)
    if amount.dtype is not torch.float32 or amount.device != device:
        amount = amount.to(device, torch.float32, non_blocking=True)
    return amount


class Clock:
    """How long a step takes, and how much of it is waiting for data."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._waited = 0.0

    def waited(self, seconds: float) -> None:
        """Count a wait for data."""
        self._waited += seconds

    def lap(self) -> dict[str, float]:
        """The times since the last step."""
        at = time.perf_counter()
        times = {"step_time": at - self._last, "data_time": self._waited}
        self._last, self._waited = at, 0.0
        return times


class InputSense:
    """Looks at what a model is called with while it trains: whether each floating-point input is finite.

    Where `looks` is off it only tells of evaluations: on a GPU one more kernel per step shows, and the inputs
    of a bad step are remembered and can be looked at behind it.
    """

    def __init__(self, model: nn.Module, evaluating: Callable[[], None], looks: bool) -> None:
        self._sums: list[Tensor] = []
        self._looks = looks
        self._evaluating = evaluating
        self._handles = [
            module.register_forward_pre_hook(self._look, with_kwargs=True)
            for _, module in called_modules(model)
        ]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    def take(self) -> float | None:
        """What `Observation` calls "input", since it was last taken; None where nothing was looked at."""
        sums, self._sums = self._sums, []
        if not sums:
            return None
        return 0.0 if all(math.isfinite(float(one)) for one in sums) else math.nan

    def _look(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return  # traced to nothing: no break and no recompilation
        if not (module.training and torch.is_grad_enabled()):
            self._evaluating()
            return
        if not self._looks or len(self._sums) >= MOST_INPUTS:
            return
        for value in (*args, *kwargs.values()):
            if _has_floats(value):
                # What is not finite stays so in a sum; half precision would overflow by itself.
                plain = value.detach() if value.requires_grad else value
                self._sums.append(torch.sum(plain, dtype=torch.float32))
                if len(self._sums) >= MOST_INPUTS:
                    return


def _has_floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.numel() > 0 and not value.is_meta


class UpdateRatio:
    """Now and then, how large the change of the weights is beside the weights: on a sample of the largest."""

    def __init__(self, every: int = RATIO_STEPS) -> None:
        self.every = every
        self._before: list[Tensor] = []
        self._sample: list[Tensor] = []

    def before(self, step: int, parameters: Iterable[Tensor]) -> None:
        """Keep a sample of the weights before a step that is due."""
        self._before = []
        if step % self.every == 0:
            self._sample = _sample(parameters)
            self._before = [part.clone() for part in self._sample]

    def after(self) -> Tensor | None:
        """The ratio, where the step was due."""
        if not self._before:
            return None
        changes = torch._foreach_sub(self._sample, self._before)
        size = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(self._before)))
        ratio = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(changes))) / size
        return torch.nan_to_num(ratio.float(), nan=torch.inf, posinf=torch.inf)


def _sample(parameters: Iterable[Tensor]) -> list[Tensor]:
    local = [
        _local(p.detach()) for p in parameters if p.is_floating_point() and not p.is_sparse and not p.is_meta
    ]
    first = next((p.device for p in local if p.numel()), None)
    here = [p for p in local if p.device == first and p.numel()]
    largest = sorted(here, key=Tensor.numel, reverse=True)[:RATIO_TENSORS]
    return [p.reshape(-1)[:RATIO_NUMBERS] for p in largest if p.is_contiguous()]


def _local(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor that is spread over ranks."""
    part = getattr(tensor, "to_local", None)
    return part() if part is not None else tensor
