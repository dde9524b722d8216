"""What the last calls of the model were: references to their arguments, and what else their result hangs on.

A forward pre-hook on the outermost module remembers; nothing is copied, and nothing waits for a device. A
pass for evaluation is not remembered: the model is in evaluation mode then, or gradients are off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

MOST_BYTES = 256 << 20  # of arguments that are kept alive for longer than the loop itself keeps them
MOST_CALLS = 256  # two windows of sixteen steps, with eight batches each
LONGEST_LIST = 64  # a longer list among the arguments is kept as it is, without looking into it


@dataclass(frozen=True, slots=True)
class Autocast:
    """Autocasting that was on, for one type of device."""

    device_type: str
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Randomness:
    """The states of torch's random number generators: the CPU's, and by index that of the CUDA device."""

    cpu: Tensor
    cuda: Mapping[int, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """One call of a module in training. `module` is its dotted name, "" for the model itself.

    `batch` is what the data loader gave, where that is known: it holds targets that the model never sees.
    """

    step: int
    module: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    batch: Any
    autocast: tuple[Autocast, ...]
    randomness: Randomness
    training: bool
    versions: tuple[tuple[Tensor, int], ...]
    held_bytes: int

    @property
    def changed(self) -> bool:
        """Whether an argument was written to since the call, and the call cannot be made again."""
        return any(tensor._version != version for tensor, version in self.versions)


class Recall:
    """Remembers the last calls of a model, within a number of bytes, until it is closed.

    Set `step` and `batch` as the loop goes on. Where something goes wrong, nothing more is remembered and
    `trouble` says why, which `tell` is told; the model's own call is never disturbed.
    """

    def __init__(
        self,
        model: nn.Module,
        most_bytes: int = MOST_BYTES,
        tell: Callable[[str], None] = lambda trouble: None,
    ) -> None:
        self.step = 0
        self._tell = tell
        self.batch: Any = None
        self.trouble = ""
        self.most_bytes = most_bytes
        self._calls: deque[tuple[int, str, int, tuple[Any, ...]]] = deque()
        self._bytes = 0
        self._device_types = _device_types(model)
        self._cuda = _cuda_device(model)
        self._handles = [self._listen(name, module) for name, module in called_modules(model)]

    def calls(self, step: int) -> tuple[RememberedCall, ...]:
        """What is remembered of one step, in the order of the calls: several where gradients accumulate."""
        return tuple(_record(*call) for call in self._calls if call[0] == step)

    def forget(self) -> None:
        """Let go of every call."""
        self._calls.clear()
        self._bytes = 0

    def close(self) -> None:
        """Stop listening, and let go of every call."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.batch = None
        self.forget()

    def _listen(self, name: str, module: nn.Module) -> torch.utils.hooks.RemovableHandle:
        def remember(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            # Where the call is being compiled, the hook is traced to nothing: no break and no recompilation.
            if torch.compiler.is_compiling() or not module.training or not torch.is_grad_enabled():
                return
            try:
                self._remember(name, args, kwargs)
            except Exception as problem:
                self.trouble = f"Calls of the model are not remembered: {type(problem).__name__}: {problem}"
                self.close()
                with suppress(Exception):
                    self._tell(self.trouble)

        return module.register_forward_pre_hook(remember, prepend=True, with_kwargs=True)

    def _remember(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember a call. This runs once a step and finds its code cold, so it makes few calls itself."""
        if self._cuda is None:
            state: Any = torch.default_generator.get_state()
        elif torch.cuda.is_current_stream_capturing():
            return  # nothing may be asked of the device meanwhile
        else:
            # A model on the GPU draws its random numbers there, and two numbers say where it is in that.
            drawing: Any = torch.cuda.default_generators[self._cuda]
            state = (self._cuda, drawing.initial_seed(), drawing.get_offset())
        versions: list[tuple[Tensor, int]] = []
        kept_args = [_kept(value, versions) for value in args]
        kept_kwargs = {key: _kept(value, versions) for key, value in kwargs.items()} if kwargs else kwargs
        of_batch: list[tuple[Tensor, int]] = []
        batch = None if self.batch is None else _kept(self.batch, of_batch)
        held = 0
        for tensor, _ in versions:
            held += tensor.nbytes
        for tensor, _ in of_batch:
            held += tensor.nbytes
        autocast = []
        for kind in self._device_types:
            if torch.is_autocast_enabled(kind):
                autocast.append((kind, torch.get_autocast_dtype(kind)))
        # A bare tuple, because making the record takes longer than everything else here.
        self._calls.append(
            (self.step, name, held, (kept_args, kept_kwargs, batch, autocast, state, versions))
        )
        self._bytes += held
        while self._calls and (self._bytes > self.most_bytes or len(self._calls) > MOST_CALLS):
            self._bytes -= self._calls.popleft()[2]


def _randomness(state: Any) -> Randomness:
    """The states of the generators from what was kept of them."""
    return Randomness(state) if isinstance(state, Tensor) else _of_cuda(*state)


def _of_cuda(index: int, seed: int, offset: int) -> Randomness:
    """The state of a CUDA generator by its seed and how far it has come; the CPU's as it is by now."""
    generator: Any = torch.Generator(device=f"cuda:{index}")
    generator.manual_seed(seed)
    generator.set_offset(offset)
    return Randomness(torch.default_generator.get_state(), {index: generator.get_state()})


def unwrapped(model: nn.Module) -> nn.Module:
    """The model itself, without what torch.compile and DistributedDataParallel put around it."""
    while True:
        inner = getattr(model, "_orig_mod", None) if _is_compiled(model) else None
        if isinstance(model, DistributedDataParallel):
            inner = model.module
        if not isinstance(inner, nn.Module):
            return model
        model = inner


def called_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The modules that the loop calls: the model, or its parts where a method of it is called instead."""
    while isinstance(model, DistributedDataParallel):
        model = model.module
    # Hooks on the compiled wrapper itself run outside of what is compiled.
    if _is_compiled(model) or not hasattr(model, "training_step"):
        return [("", model)]
    return list(_parts(model, ""))


def _parts(model: nn.Module, prefix: str) -> list[tuple[str, nn.Module]]:
    """The direct parts that have parameters; lists of modules are never called, so theirs are taken."""
    found: list[tuple[str, nn.Module]] = []
    for name, part in model.named_children():
        if isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            found += _parts(part, f"{prefix}{name}.")
        elif any(True for _ in part.parameters()):
            found.append((f"{prefix}{name}", part))
    return found


def _is_compiled(model: nn.Module) -> bool:
    # By name: importing torch._dynamo to ask costs a second.
    return type(model).__name__ == "OptimizedModule"


def _device_types(model: nn.Module) -> tuple[str, ...]:
    """The types of device that autocasting may be on for: those of the model, or all where it has none."""
    found = {parameter.device.type for parameter in model.parameters()} - {"meta"}
    if not found:
        found = {"cpu", "cuda"} if torch.cuda.is_available() else {"cpu"}
    return tuple(sorted(found))


def _cuda_device(model: nn.Module) -> int | None:
    """The CUDA device that a model is on; None where it is on none."""
    found = next((p.device for p in model.parameters() if p.device.type == "cuda"), None)
    if found is None:
        return None
    return torch.cuda.current_device() if found.index is None else found.index


def _record(step: int, module: str, held: int, kept: tuple[Any, ...]) -> RememberedCall:
    args, kwargs, batch, autocast, state, versions = kept
    return RememberedCall(
        step=step,
        module=module,
        args=tuple(args),
        kwargs=kwargs,
        batch=batch,
        autocast=tuple(Autocast(*one) for one in autocast),
        randomness=_randomness(state),
        training=True,
        versions=tuple(versions),
        held_bytes=held,
    )


def _kept(value: Any, versions: list[tuple[Tensor, int]]) -> Any:
    """The value with its containers copied, so that the loop may go on filling or emptying its own."""
    if isinstance(value, Tensor):
        if value.grad_fn is not None:
            # The graph behind it would stay in memory with it.
            value = value.detach().requires_grad_()
        if value.layout is torch.strided and not value.is_inference():
            versions.append((value, value._version))
        return value
    kind = type(value)
    if kind is dict:
        return {key: _kept(part, versions) for key, part in value.items()}
    if (kind is list or kind is tuple) and len(value) <= LONGEST_LIST:
        parts = [_kept(part, versions) for part in value]
        return parts if kind is list else tuple(parts)
    return value
