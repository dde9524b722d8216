"""A call of a model that leaves no trace: what a forward pass changes is changed on copies."""

from __future__ import annotations

import copy
import random
import sys
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy
import torch
from torch import Tensor, nn

COPIED_BYTES = 2 << 30  # of parameters; a model that writes to larger ones in its forward pass is rare
SPARE_SHARE = 0.5  # of a device's free memory, for copies of parameters
CONTAINERS = (list, dict, set, deque, OrderedDict)
# What nn.Module keeps for itself; the mode is an attribute like any other.
OWN_OF_MODULES = frozenset(vars(nn.Module())) - {"training"}


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Give copies of tensors to call `model` with (torch.func.functional_call), and put back all the rest.

    Buffers are copies, and parameters too unless they are very large; random numbers (torch, NumPy, Python),
    modes and plain attributes are afterwards as they were.
    """
    with _random_numbers_kept(), _attributes_kept(model), warnings.catch_warnings(), _eager():
        warnings.simplefilter("ignore")
        yield _copies(model)


def _copies(model: nn.Module) -> dict[str, Tensor]:
    with torch.no_grad():
        copied = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
        if _parameters_fit(model):
            for name, parameter in model.named_parameters():
                copied[name] = parameter.detach().clone().requires_grad_(parameter.requires_grad)
    return copied


def _parameters_fit(model: nn.Module) -> bool:
    needed: dict[torch.device, int] = {}
    for parameter in model.parameters():
        if parameter.layout is torch.strided:
            needed[parameter.device] = needed.get(parameter.device, 0) + parameter.nbytes
    return sum(needed.values()) <= COPIED_BYTES and all(
        device.type != "cuda" or number < SPARE_SHARE * torch.cuda.mem_get_info(device)[0]
        for device, number in needed.items()
    )


@contextmanager
def _random_numbers_kept() -> Iterator[None]:
    python, arrays, cpu = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    cuda = torch.cuda.get_rng_state_all() if used else []
    try:
        yield
    finally:
        random.setstate(python)
        numpy.random.set_state(arrays)
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)


@contextmanager
def _attributes_kept(model: nn.Module) -> Iterator[None]:
    kept = [(module, dict(vars(module))) for module in model.modules()]
    for module, attributes in kept:
        for name, value in _plain(attributes).items():
            vars(module)[name] = _copied(value)
    try:
        yield
    finally:
        for module, attributes in kept:
            for name in _plain(vars(module)):
                if name not in attributes:
                    del vars(module)[name]
            vars(module).update(_plain(attributes))


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in OWN_OF_MODULES}


def _copied(value: Any) -> Any:
    if type(value) is Tensor:
        return value.detach().clone()
    return copy.copy(value) if type(value) in CONTAINERS else value


def _eager() -> AbstractContextManager[Any]:
    """Leave compiled parts uncompiled for the call: other tensors would make them compile again."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    if "torch._dynamo" not in sys.modules or set_stance is None:
        return nullcontext()
    stance: AbstractContextManager[Any] = set_stance("force_eager")
    return stance
