"""Keeps a running average of the weights that a single bad step cannot spoil and a restart cannot change.

## What it does
After each optimizer step the average moves towards the weights: `average = decay * average + (1 - decay) *
weights`. A decay of 0.999 looks back about 1000 steps. In the first steps the decay is lower, so that the
random weights of the start are forgotten: with `warmup="power"` it is `1 - (1 + n) ** -power`, with
`warmup="count"` it is `(1 + n) / (10 + n)`, in both cases never above `decay`.

Parameters and floating-point buffers (BatchNorm's mean and variance) are averaged, integers are copied.
The average of half-precision weights is kept in float32: in bfloat16 a change of 0.1 % is smaller than the
distance between two neighbouring numbers, and the average would stand still. A step whose weights are not
finite is left out and counted; the check is made on the device, and nobody waits for it.

`with ema.averaged():` puts the average into the model, for validation or for saving, and takes it out again.
`state_dict()` holds everything: a run that is resumed goes on bit by bit as if it had never stopped. Wrappers
(DDP, `torch.compile`) may be there or not; the names in the state are those of the model inside.

## The failure it prevents
- One NaN in the weights makes every later average NaN: multiplying by zero does not help, 0 * NaN is NaN.
  The model recovers by a rewind, the average never does.
- Names that do not match. A model wrapped by `torch.compile` calls its weights `_orig_mod.*`; an average that
  looks for the old names finds none and stays bit by bit what it was.
- Without warm-up, a decay of 0.999 still holds 37 % of the random start after 1000 steps, and 0.9999 holds
  90 %. Validation of the average then looks like a model that does not learn.
- Restarts that begin the warm-up again. In the super-resolution system (decay 0.999, power 0.75) the decay
  reaches 0.999 at step 10,000. With the counter lost, the first update after a resume has decay 0: the
  average of 1000 steps is replaced by the weights of one.

It does not cause the failures it was blamed for there: the average only reads the weights, so it cannot make
training diverge, and it gets along with every learning-rate schedule.

## When not to use it
In runs that are short against `1 / (1 - decay)`; choose the decay from a half-life of 5 to 10 % of the steps.
For weights that are spread over ranks (FSDP): each rank would average its share, and this class refuses.
Call `update()` after steps that were taken; a step that the GradScaler skipped moves no weights, and counting
it makes the warm-up a little shorter. An update needs the memory of two copies of the weights; on a CPU it
took 1.4 to 2.5 times as long as a step of SGD with momentum (0.4 to 13 million weights).

## Example

    import torch
    from stethoscope.blocks import EMA

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ema = EMA(model, decay=0.999, warmup="power", power=0.75)
    for _ in range(100):
        loss = model(torch.randn(8, 2)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
    with ema.averaged():
        print(model.weight, ema.decay, ema.skipped())

## References
- Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992
- Karras et al., Analyzing and Improving the Training Dynamics of Diffusion Models, 2024
- `torch.optim.swa_utils.AveragedModel`
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from stethoscope.blocks._unwrapped import named_state, plain_name

Warmup: TypeAlias = Literal["power", "count", "none"]

_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
# Integers as wide as the numbers, to select by bits: a product with zero would keep a NaN.
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def power_decay(updates: int, *, decay: float = 0.999, power: float = 0.75) -> float:
    """The decay of an update after `updates` earlier ones: 1 - (1 + n)^-power, from 0 up to `decay`."""
    return min(max(1.0 - math.pow(1.0 + updates, -power), 0.0), decay)


def count_decay(updates: int, *, decay: float = 0.999) -> float:
    """The decay of an update after `updates` earlier ones: (1 + n) / (10 + n), up to `decay`."""
    return min((1.0 + updates) / (10.0 + updates), decay)


@torch.no_grad()
def average_(shadow: Sequence[Tensor], weights: Sequence[Tensor], decay: float) -> Tensor:
    """Move averages in place towards weights, all of them or none; gives 1 where they moved, else 0.

    None moves when a weight is not finite, or so large that its square is not. The answer is an integer
    tensor on the device of the averages, which are float32 or float64; weights may be narrower.
    """
    if not shadow:
        return torch.ones((), dtype=torch.int64)
    groups = [_Group(kept, online, decay) for kept, online in _alike(shadow, weights)]
    first = groups[0].is_finite.device
    is_finite = torch.stack([group.is_finite.to(first) for group in groups]).all()
    for group in groups:
        group.accept(is_finite)
    return is_finite.to(torch.int64)


class _Group:
    """Averages of one device and dtype on their way to what the weights would make of them."""

    def __init__(self, kept: list[Tensor], weights: list[Tensor], decay: float) -> None:
        self.kept = kept
        self.moved = torch._foreach_lerp(kept, _as_wide(kept, weights), 1.0 - decay)
        self.is_finite = torch.stack(torch._foreach_norm(self.moved)).isfinite().all()

    def accept(self, is_finite: Tensor) -> None:
        """Take the moved averages where the flag is set, else keep the old ones, bit by bit."""
        bits = _BITS[self.kept[0].dtype]
        flag = is_finite.to(self.kept[0].device)
        old = [one.view(bits) for one in self.kept]
        new = [one.view(bits) for one in self.moved]
        torch._foreach_mul_(old, (~flag).to(bits))
        torch._foreach_mul_(new, flag.to(bits))
        torch._foreach_add_(old, new)


def _alike(shadow: Sequence[Tensor], weights: Sequence[Tensor]) -> list[tuple[list[Tensor], list[Tensor]]]:
    """The pairs in groups that one foreach call can take."""
    groups: dict[tuple[torch.device, torch.dtype], tuple[list[Tensor], list[Tensor]]] = {}
    for kept, online in zip(shadow, weights, strict=True):
        ours, theirs = groups.setdefault((kept.device, kept.dtype), ([], []))
        ours.append(kept)
        theirs.append(online.detach())
    return list(groups.values())


def _as_wide(kept: list[Tensor], weights: list[Tensor]) -> list[Tensor]:
    """The weights in the dtype of their averages; the same tensors where they have it already."""
    wide = [
        one if one.dtype == old.dtype else torch.empty_like(old)
        for old, one in zip(kept, weights, strict=True)
    ]
    narrow = [index for index, one in enumerate(weights) if one.dtype != kept[index].dtype]
    if narrow:
        torch._foreach_copy_([wide[index] for index in narrow], [weights[index] for index in narrow])
    return wide


class EMA:
    """The running average of a model's weights and buffers.

    `decay` is the largest one; `warmup` says how it gets there ("power", "count", "none"). The first
    `update_after` optimizer steps are copied and not averaged; after that every `update_every`-th is taken.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        decay: float = 0.999,
        warmup: Warmup = "power",
        power: float = 0.75,
        update_after: int = 0,
        update_every: int = 1,
    ) -> None:
        _check(decay, warmup, power, update_after, update_every)
        self.model = model
        self.step = 0  # optimizer steps seen
        self.largest_decay, self.warmup, self.power = decay, warmup, power
        self.update_after, self.update_every = update_after, update_every
        self._is_averaged = False
        online = named_state(model)
        self._averaged_names = [name for name, one in online.items() if _is_averageable(name, one)]
        self._shadow = {name: _shadow_of(one) for name, one in online.items()}
        device = next((one.device for one in self._shadow.values()), torch.device("cpu"))
        self._refused = torch.zeros((), dtype=torch.int64, device=device)

    @property
    def decay(self) -> float:
        """The decay of the update after the steps seen so far; 0 copies the weights."""
        return self.decay_at(self.step + 1)

    def decay_at(self, step: int) -> float:
        """The decay of the update after the optimizer step of this number, the first being 1."""
        updates = step - self.update_after - 1
        if updates < 0:
            return 0.0
        if self.warmup == "power":
            return power_decay(updates, decay=self.largest_decay, power=self.power)
        if self.warmup == "count":
            return count_decay(updates, decay=self.largest_decay)
        return self.largest_decay

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights after an optimizer step."""
        if self._is_averaged:
            raise RuntimeError("update() inside averaged(): the model holds the average, not its weights")
        decay = self.decay
        self.step += 1
        if self.step > self.update_after and (self.step - self.update_after) % self.update_every:
            return
        online = self._online()
        names = self._averaged_names
        shadow = [_real(self._shadow[name]) for name in names]
        moved = average_(shadow, [_real(online[name]) for name in names], decay)
        self._refused += 1 - moved.to(self._refused.device)
        for name in online.keys() - set(names):
            self._shadow[name].copy_(online[name])

    def skipped(self) -> int:
        """How many updates were left out because the weights were not finite; waits for the device."""
        return int(self._refused)

    @contextmanager
    def averaged(self) -> Iterator[nn.Module]:
        """Put the average into the model for the length of a `with`; the weights come back bit by bit."""
        if self._is_averaged:
            raise RuntimeError("averaged() inside averaged(): the model holds the average already")
        online = self._online()
        weights = {name: one.detach().clone() for name, one in online.items()}
        self._is_averaged = True
        try:
            _copy(self._shadow, online)
            yield self.model
        finally:
            _copy(weights, online)
            self._is_averaged = False

    def copy_to(self, model: nn.Module) -> None:
        """Write the average into a model for good, such as the one that is shipped."""
        _copy(self._shadow, _matching(named_state(model), self._shadow))

    def state_dict(self) -> dict[str, Any]:
        """Everything that changes: the steps seen, the updates left out, and the average by name."""
        return {"step": self.step, "skipped": self._refused, "shadow": dict(self._shadow)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; the tensors that are here are written into."""
        saved = {plain_name(name): one for name, one in state["shadow"].items()}
        _copy(_matching(saved, self._shadow), self._shadow)
        self.step = int(state["step"])
        self._refused.copy_(torch.as_tensor(state["skipped"]))

    def _online(self) -> dict[str, Tensor]:
        """The tensors of the model; the average follows them to another device."""
        online = _matching(named_state(self.model), self._shadow)
        for name, one in online.items():
            if self._shadow[name].device != one.device:
                self._shadow[name] = self._shadow[name].to(one.device)
        return online


def _check(decay: float, warmup: str, power: float, after: int, every: int) -> None:
    if not 0.0 <= decay < 1.0:
        raise ValueError(f"decay is {decay}; give a number from 0 up to, and not including, 1")
    if warmup not in ("power", "count", "none"):
        raise ValueError(f"warmup is {warmup!r}; give 'power', 'count' or 'none'")
    if not power > 0:
        raise ValueError(f"power is {power}; give a number above 0, such as 0.75")
    if after < 0 or every < 1:
        raise ValueError(f"update_after is {after}, update_every {every}; they are at least 0 and at least 1")


def _is_averageable(name: str, tensor: Tensor) -> bool:
    """Whether a tensor is averaged; a mask that holds infinities from the start is copied."""
    if hasattr(tensor, "to_local"):
        raise ValueError(f"{name} is spread over ranks; EMA needs whole weights")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    if bool(tensor.detach().isfinite().all()):
        return True
    if isinstance(tensor, nn.Parameter):
        raise ValueError(f"{name} is not finite at the start; there is nothing to average yet")
    return False


def _shadow_of(tensor: Tensor) -> Tensor:
    """A copy in memory of its own, as wide as an average needs."""
    return tensor.detach().to(_WIDE.get(tensor.dtype, tensor.dtype), copy=True)


def _real(tensor: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers, in the same memory; others as they are."""
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor


def _matching(given: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of the expected names and shapes; says which ones are not there."""
    missing = [name for name in expected if name not in given]
    extra = [name for name in given if name not in expected]
    if missing or extra:
        raise ValueError(f"the names do not match: missing {missing[:5]}, not known {extra[:5]}")
    for name, one in expected.items():
        if given[name].shape != one.shape:
            raise ValueError(f"{name} has shape {tuple(given[name].shape)}, not {tuple(one.shape)}")
    return {name: given[name] for name in expected}


@torch.no_grad()
def _copy(source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> None:
    if target:
        torch._foreach_copy_(list(target.values()), [source[name].detach() for name in target])
