"""What goes wrong in a training: each fault begins in the middle of the run and says where it takes hold.

`since` counts steps from the onset, which is 0 at the first bad step; before the onset nothing is asked.
A fault is curable where something other than the person can save the run. The others are to be named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from guard_trials.tasks import Batch, Parts

RATE_STEPS = 5  # steps at a learning rate that is 300 times too high
OVERFLOWS, OVERFLOW_EVERY = 30, 2  # enough halvings to take a scale of 65,536 far below one
SWELL = 2.0**24  # takes any activation of these models out of the range of half precision

NON_FINITE = ("non-finite-input", "non-finite-loss", "non-finite-gradient")
RISES = ("gradient-spike", "loss-spike", "lasting-spike", "divergence", "level-shift")


def _same_batch(batch: Batch, since: int) -> Batch:
    return batch


def _same_parts(parts: Parts, since: int) -> Parts:
    return parts


def _leave_gradients(model: nn.Module, since: int) -> None:
    return None


def _same_rate(since: int) -> float:
    return 1.0


def _no_swelling(since: int) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fall ill, and the places of a loop where it takes hold.

    `fits` are the kinds of happening that count as its detection, `names` those that say what it is; `which`
    is how the name of the quantity at fault begins, where the kind alone leaves it open.
    """

    name: str
    curable: bool
    fits: tuple[str, ...]
    names: tuple[str, ...]
    which: str = ""
    precision: str = "fp32"
    from_start: bool = False
    batch: Callable[[Batch, int], Batch] = _same_batch
    parts: Callable[[Parts, int], Parts] = _same_parts
    gradients: Callable[[nn.Module, int], None] = _leave_gradients
    rate: Callable[[int], float] = _same_rate
    swells: Callable[[int], bool] = _no_swelling
    keeps_gradients: bool = False
    optimizes_a_copy: bool = False
    poisons_checkpoint: bool = False


def nan_batch(batch: Batch, since: int) -> Batch:
    """NaN in all of the floating-point input of one batch."""
    return (torch.full_like(batch[0], torch.nan), *batch[1:]) if since == 0 else batch


def nan_sample(batch: Batch, since: int) -> Batch:
    """NaN in one number of one sample of one batch."""
    if since:
        return batch
    spoiled = batch[0].clone()
    spoiled[len(spoiled) // 2].view(-1)[0] = torch.nan
    return (spoiled, *batch[1:])


def thousandfold(batch: Batch, since: int) -> Batch:
    """One batch a thousand times too large, its target as well where that is a picture."""
    if since:
        return batch
    return tuple(1000.0 * part if part.is_floating_point() else part for part in batch)


def shuffled(batch: Batch, since: int) -> Batch:
    """What is to be learned belongs to another sample of the batch."""
    return (*batch[:-1], batch[-1].roll(1, 0))


def infinite_part(parts: Parts, since: int) -> Parts:
    """The second part of the loss of one batch is divided by zero."""
    if since:
        return parts
    last = list(parts)[-1]
    return {**parts, last: parts[last] / 0.0}


def infinite_gradient(model: nn.Module, since: int) -> None:
    """One number in the largest gradient of one step is infinite."""
    if since == 0:
        largest = max((p.grad for p in model.parameters() if p.grad is not None), key=Tensor.numel)
        largest.view(-1)[0] = torch.inf


HEALTHY = Fault("healthy", False, (), ())

FAULTS = {
    fault.name: fault
    for fault in (
        Fault("NaN batch", True, NON_FINITE, ("non-finite-input",), batch=nan_batch),
        Fault("NaN sample", True, NON_FINITE, ("non-finite-input",), batch=nan_sample),
        Fault(
            "inf loss part", True, NON_FINITE, ("non-finite-loss",), which="loss/", parts=infinite_part,
        ),
        Fault("x1000 batch", True, RISES, ("gradient-spike", "loss-spike"), batch=thousandfold),
        Fault(
            "lr x300", True, RISES + NON_FINITE, ("lasting-spike", "divergence"),
            rate=lambda since: 300.0 if since < RATE_STEPS else 1.0,
        ),
        Fault(
            "inf gradient", True, ("non-finite-gradient",), ("non-finite-gradient",),
            gradients=infinite_gradient,
        ),
        Fault(
            "forward overflow", True,
            ("non-finite-loss", "loss-scale-falling", "loss-scale-at-floor", "skip-budget-spent"),
            ("loss-scale-falling", "loss-scale-at-floor", "non-finite-loss"),
            precision="fp16",
            swells=lambda since: since % OVERFLOW_EVERY == 0 and since < OVERFLOWS * OVERFLOW_EVERY,
        ),
        Fault(
            "poisoned checkpoint", True, ("bad-checkpoint",), ("bad-checkpoint",), poisons_checkpoint=True,
        ),
        Fault(
            "optimizer without the model", False, ("parameters-left-out", "weights-stand-still"),
            ("parameters-left-out",), from_start=True, optimizes_a_copy=True,
        ),
        Fault(
            "missing zero_grad", False, ("gradients-not-cleared", *RISES), ("gradients-not-cleared",),
            keeps_gradients=True,
        ),
        Fault(
            "lr 0", False, ("learning-rate-zero", "weights-stand-still"), ("learning-rate-zero",),
            rate=lambda since: 0.0,
        ),
        Fault("shuffled labels", False, RISES, ("level-shift",), batch=shuffled),
    )
}  # fmt: skip
