"""A remembered call, made once more with a witness on every module.

It is for the slow path after a bad step: it waits for the device, and it leaves the model as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.measuring import FINE, Measure, bad_rows, measure
from stethoscope.guard.culprit.recall import Autocast, Randomness, RememberedCall
from stethoscope.guard.culprit.undisturbed import undisturbed
from stethoscope.guard.culprit.within import mapped, tensors_within

MOST_OUTPUTS = 20_000  # calls of modules in one pass; more is a loop over time steps, and all alike
DIGESTED_BYTES = 64 << 20  # of the model's output
WIDE_BYTES = 4  # of one number in float32; what has fewer can overflow where float32 does not


@dataclass(frozen=True, slots=True)
class Output:
    """What one module gave in one call. `rows` are the bad places in the batch, where only some are bad.

    `entered_finite` says whether its inputs were finite, and `within` which module's code called it.
    """

    name: str
    class_name: str
    within: str
    has_parts: bool
    dtype: str
    limit: float
    measure: Measure
    entered_finite: bool
    rows: tuple[int, ...] = ()

    @property
    def finite(self) -> bool:
        """Whether nothing but finite numbers and masks came out."""
        return self.measure.finite or self.measure.is_mask

    @property
    def shown(self) -> str:
        """The module's name and class, as people read it."""
        return f"{self.name} ({self.class_name})" if self.name else f"the model itself ({self.class_name})"


@dataclass(frozen=True, slots=True)
class Passage:
    """One repetition: every output in the order of execution, and whether the last result is finite.

    `digest` is a hash of the result's bytes, "" where it is too large.
    """

    precision: str
    outputs: tuple[Output, ...]
    finite: bool
    digest: str = ""

    @property
    def first_bad(self) -> int | None:
        """The index of the first output that is not finite, where the result is not finite either."""
        if self.finite:
            return None
        return next((number for number, output in enumerate(self.outputs) if not output.finite), None)

    @property
    def has_half(self) -> bool:
        """Whether some output has fewer bits than float32."""
        return any(output.dtype in HALF_NAMES for output in self.outputs)


HALF_NAMES = frozenset(
    str(value).removeprefix("torch.")
    for value in vars(torch).values()
    if isinstance(value, torch.dtype) and value.is_floating_point and value.itemsize < WIDE_BYTES
)


def repeat(model: nn.Module, call: RememberedCall, *, in_float32: bool = False) -> Passage:
    """Make the call again as it was, or with everything in half precision widened to float32."""
    module = model.get_submodule(call.module)
    args, kwargs = call.args, call.kwargs
    with torch.no_grad(), undisturbed(module) as tensors:
        if in_float32:
            tensors.update(_widened(module))
            args, kwargs = (mapped(value, _wide) for value in (args, kwargs))
        autocast = () if in_float32 else call.autocast
        seed(call.randomness)
        with casting(autocast), witnessed(module, call.module, _batch_size(args, kwargs)) as outputs:
            result = torch.func.functional_call(module, tensors, args, dict(kwargs))
        return Passage(
            "float32" if in_float32 else precision_in_words(autocast),
            tuple(outputs),
            _is_finite(result),
            _digest(result),
        )


def is_in_half(model: nn.Module, call: RememberedCall) -> bool:
    """Whether anything about the call was asked for in less than float32."""
    module = model.get_submodule(call.module)
    tensors: list[Tensor] = [*module.parameters(), *module.buffers()]
    tensors += [tensor for _, tensor in tensors_within((call.args, call.kwargs), "")]
    return bool(call.autocast) or any(_is_narrow(tensor) for tensor in tensors)


@contextmanager
def witnessed(model: nn.Module, prefix: str = "", batch_size: int | None = None) -> Iterator[list[Output]]:
    """Write down what every module gives for as long as the context lasts."""
    outputs: list[Output] = []
    calling: list[tuple[str, bool]] = []
    with ExitStack() as hooks:
        for inner, module in model.named_modules():
            name = clean_name(".".join(part for part in (prefix, inner) if part))
            for handle in _listen(module, name, outputs, calling, batch_size):
                hooks.callback(handle.remove)
        yield outputs


@contextmanager
def casting(autocast: Sequence[Autocast]) -> Iterator[None]:
    """Autocast exactly for these types of device, whatever is on around it."""
    wanted = {one.device_type: one.dtype for one in autocast}
    kinds = {"cpu", *wanted} | ({"cuda"} if torch.cuda.is_available() else set())
    with ExitStack() as contexts:
        for kind in sorted(kinds):
            on = kind in wanted
            contexts.enter_context(
                torch.autocast(kind, dtype=wanted.get(kind), enabled=on, cache_enabled=False)
            )
        yield


def seed(randomness: Randomness) -> None:
    """Set torch's random number generators to a remembered state."""
    torch.set_rng_state(randomness.cpu)
    if torch.cuda.is_available():
        for index, state in randomness.cuda.items():
            if index < torch.cuda.device_count():
                torch.cuda.set_rng_state(state, index)


def precision_in_words(autocast: Sequence[Autocast]) -> str:
    """The precision of a call, as people say it."""
    if not autocast:
        return "no autocast"
    return " and ".join(f"{dtype_name(one.dtype)} autocast on {one.device_type}" for one in autocast)


def dtype_name(dtype: torch.dtype) -> str:
    """float16, not torch.float16."""
    return str(dtype).removeprefix("torch.")


def clean_name(name: str) -> str:
    """A module's or tensor's name without what torch.compile puts into it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _listen(
    module: nn.Module,
    name: str,
    outputs: list[Output],
    calling: list[tuple[str, bool]],
    batch_size: int | None,
) -> list[torch.utils.hooks.RemovableHandle]:
    has_parts = any(True for _ in module.children())

    def entered(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calling.append((name, _is_finite((args, kwargs))))

    def left(module: nn.Module, args: tuple[Any, ...], result: Any) -> None:
        # A module that raised never left; everything above its caller is its own.
        while calling:
            came_from, entered_finite = calling.pop()
            if came_from == name:
                break
        else:
            return
        within = calling[-1][0] if calling else name
        if len(outputs) < MOST_OUTPUTS:
            output = _output(result, name, type(module).__name__, batch_size)
            if output is not None:
                outputs.append(
                    Output(within=within, has_parts=has_parts, entered_finite=entered_finite, **output)
                )

    try:
        return [
            module.register_forward_pre_hook(entered, with_kwargs=True),
            module.register_forward_hook(left),
        ]
    except RuntimeError:  # a scripted module takes no hooks
        return []


def _output(result: Any, name: str, class_name: str, batch_size: int | None) -> dict[str, Any] | None:
    """What came out: the worst of its tensors, else the one with the largest values."""
    measured = [(tensor, measure(tensor)) for _, tensor in tensors_within(result, "")]
    measured = [(tensor, found) for tensor, found in measured if found is not FINE]
    if not measured:
        return None
    tensor, found = max(measured, key=lambda one: (*_badness(one[1]), one[1].largest))
    rows = () if found.finite or batch_size != _rows(tensor) else bad_rows(tensor)
    return {
        "name": name,
        "class_name": class_name,
        "dtype": dtype_name(tensor.dtype),
        "limit": torch.finfo(tensor.dtype).max,
        "measure": found,
        "rows": rows if len(rows) != batch_size else (),
    }


def _badness(found: Measure) -> tuple[bool, float]:
    return (not found.finite and not found.is_mask, found.bad_share)


def _is_finite(value: Any) -> bool:
    found = (measure(tensor) for _, tensor in tensors_within(value, ""))
    return all(one.finite or one.is_mask for one in found)


def _batch_size(args: Sequence[Any], kwargs: Mapping[str, Any]) -> int | None:
    return next((_rows(tensor) for _, tensor in tensors_within((args, kwargs), "")), None)


def _rows(tensor: Tensor) -> int | None:
    return tensor.shape[0] if tensor.dim() else None


def _widened(module: nn.Module) -> dict[str, Tensor]:
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: _wide(tensor.detach()) for name, tensor in named if _is_narrow(tensor)}


def _wide(tensor: Tensor) -> Tensor:
    return tensor.float() if _is_narrow(tensor) else tensor


def _is_narrow(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() < WIDE_BYTES


def _digest(value: Any) -> str:
    found = [tensor.detach() for _, tensor in tensors_within(value, "")]
    plain = all(tensor.layout is torch.strided and not tensor.is_meta for tensor in found)
    if not found or not plain or sum(tensor.nbytes for tensor in found) > DIGESTED_BYTES:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for tensor in found:
        flat = tensor.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        digest.update(f"{dtype_name(tensor.dtype)}{tuple(tensor.shape)}".encode())
        digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return digest.hexdigest()
