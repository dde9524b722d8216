"""Collects what is seen of one step, on the device and on the host, into one row.

Nothing here waits for a device: losses and norms are kept as the tensors they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.recall import called_modules
from stethoscope.guard.sensing.ring import Seen, writes_to
from stethoscope.guard.sensing.stepping import Update, Way

Amount = Tensor | float
# The loss of a batch and its parts: what they are called, and each with the writes to its memory.
Batch = tuple[tuple[str, ...], list[Amount], list[int]]

LOSS = "loss"
MOST_INPUTS = 4  # tensors of one batch that are looked at; further ones are masks and the like
RATIO_TENSORS = 16  # the largest ones ...
RATIO_NUMBERS = 1 << 16  # ... and so many numbers of each


@dataclass(slots=True, eq=False)
class Taken:
    """One step as it is taken down while it happens: references only, and no question asked.

    Everything else waits until the window is full: at each step, code that the loop has just pushed out of
    the processor's caches would cost many times what it costs there.
    """

    batches: list[Batch] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    step: int = 0
    wall: float = 0.0
    step_time: float = 0.0
    data_time: float = 0.0
    rate: Amount = 0.0
    ratio: Tensor | None = None
    scale: Tensor | None = None
    given: float | None = None  # "input" of `Observation`


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One step in order. `seen` are numbers on the device, `known` numbers on the host."""

    device: torch.device
    seen: Seen
    known: dict[str, float]

    def put(self, name: str, amount: Amount, writes: int | None = None) -> None:
        """Put down a number, on the side where it is."""
        if isinstance(amount, float):
            self.known[name] = amount
        elif not isinstance(amount, Tensor):
            self.known[name] = float(amount)
        elif not amount.is_cpu or self.device.type == "cpu":
            self.seen.names.append(name)
            self.seen.numbers.append(amount)
            self.seen.writes.append(writes_to(amount) if writes is None else writes)
        else:
            self.known[name] = on_host(amount)


def row(taken: Taken, device: torch.device, is_skipping: bool) -> Row:
    """Put the numbers of a step in order. `is_skipping` says that bad steps are kept from the weights."""
    found = Row(device, Seen([], [], []), {"step_time": taken.step_time, "data_time": taken.data_time})
    put = found.put
    names, losses, writes = taken.batches[0] if len(taken.batches) == 1 else _means(taken.batches)
    for name, loss, written in zip(names, losses, writes, strict=True):
        put(name, loss, written)
    for update in taken.updates:
        put("grad_norm" if update.number == 0 else f"grad_norm/{update.number}", update.norm)
    put("skipped", _skipped(taken.updates, is_skipping))
    put("lr", taken.rate)
    if taken.ratio is not None:
        put("update_ratio", taken.ratio)
    if taken.scale is not None:
        put("loss_scale", taken.scale)
    if taken.given is not None:
        put("input", taken.given)
    return found


def _means(batches: Sequence[Batch]) -> Batch:
    """The loss and its parts over the batches of a step."""
    amounts: dict[str, list[Amount]] = {}
    for names, losses, _ in batches:
        for name, loss in zip(names, losses, strict=True):
            amounts.setdefault(name, []).append(loss)
    means = [sum(several) / len(several) for several in amounts.values()]
    return tuple(amounts), means, [writes_to(one) if isinstance(one, Tensor) else 0 for one in means]


@cache
def loss_names(parts: tuple[str, ...]) -> tuple[str, ...]:
    """What the loss and its parts are called."""
    return (LOSS, *(f"{LOSS}/{name}" for name in parts))


def _skipped(updates: Sequence[Update], is_skipping: bool) -> Amount:
    """Whether an optimizer was kept from its step: one of several is enough."""
    skipped: Amount = 0.0
    for update in updates:
        if not (is_skipping or update.way is Way.SCALER):
            continue
        if update.known_bad is not None or update.bad is None:
            if update.known_bad:
                return 1.0
        else:
            skipped = update.bad if isinstance(skipped, float) else torch.maximum(skipped, update.bad)
    return skipped


def on_host(amount: Amount) -> float:
    """The value of a number; one on a device is waited for."""
    return float(one_number(amount).item() if isinstance(amount, Tensor) else amount)


def copied(amount: Amount) -> Amount:
    """A number that is copied where it is, because somebody may write to it."""
    return amount.detach().clone() if isinstance(amount, Tensor) else float(amount)


def one_number(tensor: Tensor) -> Tensor:
    """The mean of a loss that was not reduced."""
    return tensor.detach().float().mean() if tensor.dim() else tensor


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
    """How large the change of the weights is beside the weights: on a sample of the largest."""

    def __init__(self) -> None:
        self._before: list[Tensor] = []
        self._sample: list[Tensor] = []

    def before(self, parameters: Iterable[Tensor]) -> None:
        """Keep a sample of the weights before a step."""
        self._sample = _sample(parameters)
        self._before = [part.clone() for part in self._sample]

    def after(self) -> Tensor | None:
        """The ratio; None where there was nothing to sample."""
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
