"""Where the random number generators stand: Python's, NumPy's, torch's on the CPU and on devices."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class RandomState:
    """The state of each generator; those of devices and the loop's own in the order they were given."""

    python: Any
    arrays: Any
    cpu: Tensor
    devices: tuple[tuple[torch.device, Tensor], ...]
    own: tuple[Tensor, ...]


def random_state(devices: Iterable[torch.device], own: Sequence[torch.Generator] = ()) -> RandomState:
    """Where the generators stand; nothing waits for a device, whose generators are kept by the host."""
    return RandomState(
        random.getstate(),
        numpy.random.get_state(),
        torch.get_rng_state(),
        tuple((device, _of(device).get_rng_state(device)) for device in devices if _has_generator(device)),
        tuple(generator.get_state() for generator in own),
    )


def set_random_state(state: RandomState, own: Sequence[torch.Generator] = ()) -> None:
    """Let all generators go on from where they stood."""
    random.setstate(state.python)
    numpy.random.set_state(state.arrays)
    torch.set_rng_state(state.cpu)
    for device, numbers in state.devices:
        _of(device).set_rng_state(numbers, device)
    for generator, numbers in zip(own, state.own, strict=False):
        generator.set_state(numbers)


def _has_generator(device: torch.device) -> bool:
    return device.type in ("cuda", "xpu") and bool(_of(device).is_initialized())


def _of(device: torch.device) -> Any:
    return getattr(torch, device.type)
