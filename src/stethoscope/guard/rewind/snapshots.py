"""Copies of a training in host memory, taken every few hundred steps, to go back to.

A snapshot holds all that the next step depends on and that can be reached: parameters, buffers, optimizer
state and the values of its groups, scaler, schedules, averaged weights, random number generators, and
whatever else says where it stands by `state_dict`. Gradients are not part of it, nor are data that a loader
has drawn ahead.

Taking one waits for nothing. Each carries a flag, computed on the device, that says whether its weights and
moments were finite; it is read when somebody wants to go back, and one that was not finite is never good.
Of parameters that are spread over ranks, each rank keeps its share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.guard.rewind.held_state import Held, NotHere, put_back, taken_out, wrote_into
from stethoscope.guard.rewind.host_copies import HostCopies, bytes_needed
from stethoscope.guard.rewind.random_state import RandomState, random_state, set_random_state
from stethoscope.guard.sensing.finite import all_finite, infinite_by_design, plain_parts

KEEP = 3
LEAST_KEPT = 2  # while one is written, the other is there

# What a GradScaler is made of. Its own `state_dict` waits for the device.
SCALER = (
    "_scale",
    "_growth_tracker",
    "_init_scale",
    "_init_growth_tracker",
    "_growth_factor",
    "_backoff_factor",
    "_growth_interval",
)


@runtime_checkable
class Stateful(Protocol):
    """Whatever can say where it stands, and go on from there."""

    def state_dict(self) -> Any:
        """Where it stands."""

    def load_state_dict(self, state_dict: Any) -> Any:
        """Go on from where it stood."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What a training is made of. `others` are samplers, loaders, whatever has a place to go back to."""

    models: tuple[nn.Module, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    scaler: Any = None
    schedules: tuple[Stateful, ...] = ()
    emas: tuple[Stateful, ...] = ()
    others: tuple[Stateful, ...] = ()
    generators: tuple[torch.Generator, ...] = ()

    @classmethod
    def of(
        cls,
        model: nn.Module | Sequence[nn.Module] | None,
        optimizers: Optimizer | Sequence[Optimizer],
        *,
        scaler: Any = None,
        schedule: Any = None,
        ema: Any = None,
        others: Any = None,
        generators: Any = None,
    ) -> Parts:
        """The parts as a person gives them: none, one or several of each."""
        for name, part in (("schedule", schedule), ("ema", ema), ("others", others)):
            for one in _several(part):
                _see_that_it_has_state(name, one)
        return cls(
            _several(model),
            _several(optimizers),
            scaler,
            _several(schedule),
            _several(ema),
            _several(others),
            _several(generators),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A training as it was before the update of `step`."""

    step: int
    state: Mapping[str, Any]
    random: RandomState
    copies: HostCopies

    @property
    def is_good(self) -> bool:
        """Whether all was finite; waits until the values have arrived."""
        self.copies.wait()
        return self.copies.is_good

    @property
    def is_known_bad(self) -> bool:
        """Whether it is seen already, without waiting, that it was not finite."""
        return self.copies.is_done and not self.copies.is_good


class Snapshots:
    """The last few snapshots of a training, within `most_bytes` of host memory for all of them together.

    `too_large` says why none can be taken, with the numbers; it is known before anything is copied, from what
    the optimizers will hold, and looked at again when they hold it.
    """

    def __init__(self, parts: Parts, most_bytes: int, keep: int = KEEP) -> None:
        self.parts = parts
        self.too_large: str | None = None
        self._most_bytes = most_bytes
        self._keep = self._kept = keep
        self._ring: list[Snapshot] = []  # oldest first
        self._excused = [infinite_by_design(model) for model in _modules(parts)]
        tensors: list[Tensor] = []
        _taken(parts, tensors)
        self.bytes_each = bytes_needed(tensors) + sum(map(_bytes_to_come, parts.optimizers))
        self._fits(self.bytes_each)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the snapshots there are, oldest first."""
        return tuple(one.step for one in self._ring)

    def take(self, step: int) -> bool:
        """Copy everything as it is before the update of `step`, and say whether that was done."""
        if self.too_large is not None or _is_capturing():
            return False
        tensors: list[Tensor] = []
        state = _taken(self.parts, tensors)
        is_good = all_finite(self._judged(state, tensors))
        copies = self._memory(tensors)
        if copies is None:
            return False
        random = random_state(dict.fromkeys(tensor.device for tensor in tensors), self.parts.generators)
        copies.copy_from(tensors, is_good)
        self._ring.append(Snapshot(step, state, random, copies))
        return True

    def good_steps(self) -> tuple[int, ...]:
        """The steps of all good snapshots, oldest first: what ranks agree on before they go back."""
        return tuple(one.step for one in self._ring if one.is_good)

    def at(self, step: int) -> Snapshot | None:
        """The snapshot of one step."""
        return next((one for one in self._ring if one.step == step), None)

    def restore(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Put everything back as it was, in place, and forget the snapshots that are later.

        Gives the names of what could not be put back: parameters that came later, or changed their shape.
        """
        if not any(one is snapshot for one in self._ring):
            raise ValueError(f"the snapshot of step {snapshot.step} is gone: its memory holds a later one")
        snapshot.copies.wait()
        left = tuple(_put_back(self.parts, snapshot.state, snapshot.copies.views))
        set_random_state(snapshot.random, self.parts.generators)
        self._ring = [one for one in self._ring if one.step <= snapshot.step]
        return left

    def _judged(self, state: Mapping[str, Any], tensors: Sequence[Tensor]) -> Iterator[Tensor]:
        """The tensors that must be finite: weights, moments, and buffers that were so at the beginning."""
        for held, excused in zip(state["modules"], self._excused, strict=True):
            yield from _parts_of([one for name, one in held.items() if name not in excused], tensors)
        yield from _parts_of([state["loose"], state["optimizers"], state["averages"]], tensors)

    def _memory(self, tensors: Sequence[Tensor]) -> HostCopies | None:
        """Host memory for a snapshot: that of the oldest, or of one that is known to be bad."""
        needed = bytes_needed(tensors)
        if needed != self.bytes_each:
            self.bytes_each = needed
            if not self._fits(needed):
                self._ring.clear()
                return None
        while len(self._ring) >= self._kept:
            copies = self._ring.pop(self._spent()).copies
            if len(self._ring) < self._kept and copies.fits(tensors):
                return copies
        return HostCopies(tensors)

    def _spent(self) -> int:
        bad = [at for at, one in enumerate(self._ring) if one.is_known_bad]
        return bad[0] if bad else 0

    def _fits(self, needed: int) -> bool:
        """Choose how many are kept; where not even two fit, say so."""
        self._kept = min(self._keep, self._most_bytes // max(1, needed))
        if self._kept < min(LEAST_KEPT, self._keep):
            self.too_large = (
                f"One snapshot of this training takes {_gigabytes(needed)} of host memory, and "
                f"{LEAST_KEPT} are needed; {_gigabytes(self._most_bytes)} are allowed (snapshot_bytes)."
            )
        return self.too_large is None


def _several(part: Any) -> tuple[Any, ...]:
    if part is None:
        return ()
    return tuple(part) if isinstance(part, list | tuple) else (part,)


def _see_that_it_has_state(name: str, one: Any) -> None:
    if not isinstance(one, Stateful):
        kind = type(one).__name__
        raise TypeError(f"{name}={kind}(...) cannot be put back: it lacks state_dict or load_state_dict")


def _modules(parts: Parts) -> list[nn.Module]:
    """The models, and averaged weights that are models too."""
    return [*parts.models, *(ema for ema in parts.emas if isinstance(ema, nn.Module))]


def _bytes_to_come(optimizer: Optimizer) -> int:
    """What an optimizer will hold for parameters that it has not met yet; nothing where that is not known."""
    return sum(
        _copies_held(group) * sum(part.nbytes for part in plain_parts(parameter))
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.requires_grad and not optimizer.state.get(parameter) and _has_values(parameter)
    )


def _copies_held(group: Mapping[str, Any]) -> int:
    if "betas" in group:
        return 3 if group.get("amsgrad") else 2
    return int(bool(group.get("momentum")))


def _has_values(tensor: Tensor) -> bool:
    return not tensor.is_meta and not nn.parameter.is_lazy(tensor)


def _is_capturing() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def _gigabytes(number: int) -> str:
    return f"{number / 1e9:.3g} GB"


# --- taking and putting back


@torch.no_grad()
def _taken(parts: Parts, tensors: list[Tensor]) -> dict[str, Any]:
    """Everything but random numbers, with marks in place of the tensors, which are added to `tensors`."""
    modules = _modules(parts)
    live = {
        "modules": [_tensors_of(module) for module in modules],
        "extras": [_extras_of(module) for module in modules],
        "loose": _loose(parts),
        "optimizers": [_state_of(optimizer) for optimizer in parts.optimizers],
        "averages": [one.state_dict() for one in _plain_averages(parts)],
        "others": [one.state_dict() for one in _others(parts)],
        "scaler": _scaler_state(parts.scaler),
    }
    held: dict[str, Any] = taken_out(live, tensors)
    return held


@torch.no_grad()
def _put_back(parts: Parts, state: Mapping[str, Any], copies: Sequence[Tensor]) -> Iterator[str]:
    """Put everything back, and name what could not be."""
    for module, held, extras in zip(_modules(parts), state["modules"], state["extras"], strict=True):
        yield from _module_put_back(module, held, extras, copies)
    for parameter, held in zip(_loose(parts), state["loose"], strict=False):
        wrote_into(parameter, held, copies)
    for one, held in zip(_plain_averages(parts), state["averages"], strict=True):
        one.load_state_dict(put_back(None, held, copies))
    # Schedules come before optimizers: some of them set the rate when they are loaded.
    for one, held in zip(_others(parts), state["others"], strict=True):
        one.load_state_dict(put_back(None, held, copies))
    for optimizer, held in zip(parts.optimizers, state["optimizers"], strict=True):
        _optimizer_put_back(optimizer, held, copies)
    _scaler_put_back(parts.scaler, state["scaler"], copies)


def _tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers, also those that a checkpoint leaves out."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _extras_of(module: nn.Module) -> dict[str, Any]:
    return {name: one.get_extra_state() for name, one in module.named_modules() if _has_extra(one)}


def _has_extra(module: nn.Module) -> bool:
    return type(module).get_extra_state is not nn.Module.get_extra_state


def _loose(parts: Parts) -> list[Tensor]:
    """Parameters that an optimizer trains and no model holds, such as the weights of losses."""
    known = {id(one) for module in _modules(parts) for one in module.parameters()}
    loose: dict[int, Tensor] = {}
    for parameter in (p for one in parts.optimizers for group in one.param_groups for p in group["params"]):
        if id(parameter) not in known:
            loose[id(parameter)] = parameter
    return list(loose.values())


def _state_of(optimizer: Optimizer) -> dict[str, Any]:
    groups = [
        {name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups
    ]
    return {"state": dict(optimizer.state), "groups": groups}


def _plain_averages(parts: Parts) -> list[Stateful]:
    return [ema for ema in parts.emas if not isinstance(ema, nn.Module)]


def _others(parts: Parts) -> list[Stateful]:
    has_own = isinstance(parts.scaler, Stateful) and not _is_torch_scaler(parts.scaler)
    return [*parts.schedules, *parts.others, *([parts.scaler] if has_own else [])]


def _is_torch_scaler(scaler: Any) -> bool:
    return all(hasattr(scaler, name) for name in SCALER)


def _scaler_state(scaler: Any) -> dict[str, Any]:
    return {name: getattr(scaler, name) for name in SCALER} if _is_torch_scaler(scaler) else {}


def _parts_of(held: Any, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """The tensors that marks stand for."""
    if isinstance(held, Held):
        yield from tensors[held.first : held.first + len(held.devices)]
    elif isinstance(held, Mapping):
        for one in held.values():
            yield from _parts_of(one, tensors)
    elif isinstance(held, list | tuple):
        for one in held:
            yield from _parts_of(one, tensors)


def _module_put_back(
    module: nn.Module, held: Mapping[str, Any], extras: Mapping[str, Any], copies: Sequence[Tensor]
) -> Iterable[str]:
    live = _tensors_of(module)
    left = [name for name in live if name not in held]
    for name, one in held.items():
        if not isinstance(one, NotHere) and not wrote_into(live.get(name), one, copies):
            left.append(name)
    for name, one in module.named_modules():
        if name in extras:
            one.set_extra_state(put_back(None, extras[name], copies))
    return left


def _optimizer_put_back(optimizer: Optimizer, held: Mapping[str, Any], copies: Sequence[Tensor]) -> None:
    state = optimizer.state
    for key in [key for key in state if key not in held["state"]]:
        del state[key]  # made later; the optimizer makes it again
    for key, one in held["state"].items():
        state[key] = put_back(state.get(key), one, copies)
    for group, values in zip(optimizer.param_groups, held["groups"], strict=False):
        for name, one in values.items():
            group[name] = put_back(group.get(name), one, copies)


def _scaler_put_back(scaler: Any, held: Mapping[str, Any], copies: Sequence[Tensor]) -> None:
    for name, one in held.items():
        setattr(scaler, name, put_back(getattr(scaler, name), one, copies))
