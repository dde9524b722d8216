"""Collects what is seen of one step, on the device and on the host, into one row.

Nothing here waits for a device: losses and norms are kept as the tensors they are, and written as one row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.recall import called_modules

Amount = Tensor | float

MOST_INPUTS = 4  # tensors of one batch that are looked at; further ones are masks and the like
RATIO_STEPS = 64  # updates between two measurements of the update ratio
RATIO_TENSORS = 16  # the largest ones ...
RATIO_NUMBERS = 1 << 16  # ... and so many numbers of each


@dataclass(slots=True, eq=False)
class Row:
    """One step in the making. `seen` are tensors of the device, `known` numbers of the host."""

    seen: dict[str, Tensor] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)
    batches: int = 0
    stepped: set[int] = field(default_factory=set)  # the optimizers that have stepped

    def add_loss(self, name: str, amount: Amount) -> None:
        """Add the loss of one batch; those of several batches are averaged when the row is closed."""
        if isinstance(amount, Tensor):
            self.seen[name] = amount if name not in self.seen else self.seen[name] + amount
        else:
            self.known[name] = self.known.get(name, 0.0) + float(amount)

    def averaged(self, names: Iterable[str]) -> None:
        """Make means of the sums over batches."""
        if self.batches > 1:
            for name in names:
                if name in self.seen:
                    self.seen[name] = self.seen[name] / self.batches
                elif name in self.known:
                    self.known[name] /= self.batches


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
    """Looks at what a model is called with while it trains: a sum of each floating-point input.

    Where `sums` is off it only tells of evaluations: on a GPU one more kernel per step shows, and the inputs
    of a bad step are remembered and can be looked at behind it.
    """

    def __init__(self, model: nn.Module, evaluating: Callable[[], None], sums: bool) -> None:
        self.sums: list[Tensor] = []
        self._is_summing = sums
        self._evaluating = evaluating
        self._handles = [
            module.register_forward_pre_hook(self._look, with_kwargs=True)
            for _, module in called_modules(model)
        ]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    def take(self) -> list[Tensor]:
        """The sums since they were last taken."""
        sums, self.sums = self.sums, []
        return sums

    def _look(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return  # traced to nothing: no break and no recompilation
        if not (module.training and torch.is_grad_enabled()):
            self._evaluating()
            return
        if not self._is_summing or len(self.sums) >= MOST_INPUTS:
            return
        for value in (*args, *kwargs.values()):
            if (
                isinstance(value, Tensor)
                and value.is_floating_point()
                and value.numel()
                and not value.is_meta
            ):
                # What is not finite stays so in a sum; half precision would overflow by itself.
                self.sums.append(
                    torch.sum(value.detach() if value.requires_grad else value, dtype=torch.float32)
                )
                if len(self.sums) >= MOST_INPUTS:
                    return


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
        # NaN stands for "not measured", so what is not finite is infinite.
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
