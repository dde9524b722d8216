"""Who spoiled a step: the inputs, the parameters, half precision, one module, or what comes after the model.

`find` repeats a remembered call on the slow path, once as it was and once in float32, and looks where the
first value that is not finite comes from. The training goes on afterwards as if nobody had looked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from stethoscope.guard.culprit.measuring import bad_rows, measure, readable
from stethoscope.guard.culprit.recall import RememberedCall, unwrapped
from stethoscope.guard.culprit.repeating import HALF_NAMES, Output, Passage, clean_name, is_in_half, repeat
from stethoscope.guard.culprit.verdict import MOST_NAMED, BadTensor, Culprit, Verdict
from stethoscope.guard.culprit.within import tensors_within

__all__ = [
    "Culprit",
    "Verdict",
    "bad_gradients",
    "bad_tensors",
    "error_in_words",
    "find",
    "find_among",
    "ids_as_text",
    "why_not_repeatable",
]


@dataclass(frozen=True, slots=True)
class GradientSize:
    """The gradient of one parameter: its norm (NaN or infinite where it is not finite) and its bad share."""

    name: str
    norm: float
    bad_share: float

    @property
    def shown(self) -> str:
        """The norm for people: a number, "nan" or "inf"."""
        return f"{self.norm:.3g}"


def find(
    model: nn.Module,
    call: RememberedCall,
    parts: Mapping[str, Tensor | float] | None = None,
    samples: Sequence[object] | Tensor | None = None,
    *,
    same_parameters: bool = True,
) -> Culprit:
    """Find out what spoiled a step; it never raises, and it leaves the model as it was.

    `parts` are the components of the loss, `samples` the ids of the samples in the batch. `same_parameters`
    is False where the parameters have moved on since the call.
    """
    try:
        return _found(unwrapped(model), call, parts or {}, ids_as_text(samples), same_parameters)
    except Exception as problem:
        return Culprit(call.step, Verdict.NOT_REPEATED, trouble=error_in_words(problem))


def find_among(
    model: nn.Module,
    calls: Sequence[RememberedCall],
    parts: Mapping[str, Tensor | float] | None = None,
    samples: Sequence[object] | Tensor | None = None,
    *,
    same_parameters: bool = True,
) -> tuple[RememberedCall, Culprit]:
    """Look through the calls of one step, and give the first that is to blame; else the last one.

    `samples` are those of the last call.
    """
    if not calls:
        raise ValueError("no call of this step is remembered")
    for call in calls:
        ids = samples if call is calls[-1] else None
        culprit = find(model, call, parts, ids, same_parameters=same_parameters)
        if culprit.verdict is not Verdict.FORWARD_FINITE:
            break
    return call, culprit


@torch.no_grad()
def bad_gradients(
    named_parameters: Iterable[tuple[str, Tensor]], most: int = MOST_NAMED
) -> tuple[GradientSize, ...]:
    """The gradients, worst first: those that are not finite by their bad share, then the largest."""
    sizes: list[GradientSize] = []
    for name, parameter in named_parameters:
        if parameter.grad is not None:
            found = measure(parameter.grad)
            norm = _norm(parameter.grad) if found.finite else math.nan if found.nans else math.inf
            sizes.append(GradientSize(clean_name(name), norm, found.bad_share))
    # Of those that are alike the last come first: they are nearest to the loss, where a fault comes from.
    sizes.reverse()
    sizes.sort(key=lambda one: (-one.bad_share, -one.norm if math.isfinite(one.norm) else 0.0))
    return tuple(sizes[:most])


def bad_tensors(named: Iterable[tuple[str, Tensor]]) -> tuple[BadTensor, ...]:
    """Those tensors that hold something that is not finite."""
    measured = ((name, measure(tensor)) for name, tensor in named)
    return tuple(
        BadTensor(clean_name(name), found.kind, found.bad_share)
        for name, found in measured
        if not found.finite
    )


def why_not_repeatable(model: nn.Module) -> str:
    """Why the model cannot be called again by one process alone; "" where it can."""
    for name, module in model.named_modules():
        lineage = {parent.__name__ for parent in type(module).__mro__}
        if lineage & {"FSDPModule", "FullyShardedDataParallel"}:
            return "the model is sharded over several processes (FSDP), which all would have to call it"
        if isinstance(module, nn.SyncBatchNorm) and _has_company():
            return f"{name} (SyncBatchNorm) waits for the other processes in its forward pass"
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            return f"{name} is on the meta device and holds no values"
        if hasattr(parameter, "to_local") or hasattr(parameter, "ds_id"):
            return f"{name} is split over several processes, which all would have to call the model"
        if getattr(parameter, "tensor_model_parallel", False):
            return f"{name} is one part of a tensor-parallel layer, which talks to the other parts"
    return ""


def error_in_words(problem: BaseException) -> str:
    """An exception on one line."""
    if isinstance(problem, (torch.cuda.OutOfMemoryError, MemoryError)):
        return "there was not enough memory to repeat the call"
    first = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {first[0]}" if first else type(problem).__name__


def ids_as_text(samples: Sequence[object] | Tensor | None) -> tuple[str, ...]:
    """The ids of samples as text, however the data loader gives them."""
    if samples is None:
        return ()
    listed = samples.tolist() if isinstance(samples, Tensor) else samples
    if isinstance(listed, (str, int)):
        return (str(listed),)
    return tuple(str(one.item() if isinstance(one, Tensor) and one.numel() == 1 else one) for one in listed)


def _found(
    model: nn.Module,
    call: RememberedCall,
    parts: Mapping[str, Tensor | float],
    samples: tuple[str, ...],
    same_parameters: bool,
) -> Culprit:
    # What was written to since may have been finite when the model saw it.
    bad_inputs = () if call.changed else _bad_inputs(call, samples)
    bad_parameters = (*bad_tensors(model.named_parameters()), *_bad_buffers(model))
    bad_parts = tuple(name for name, value in parts.items() if not _is_finite(value))
    trouble = why_not_repeatable(model)
    if not trouble and call.changed:
        trouble = "an argument of the call was written to since"
    as_it_was = in_float32 = None
    if not trouble:
        as_it_was, trouble = _try_repeat(model, call, in_float32=False)
    if as_it_was is not None and (is_in_half(model, call) or as_it_was.has_half):
        in_float32, trouble = _try_repeat(model, call, in_float32=True)
    verdict = _verdict(as_it_was, in_float32, bad_inputs, bad_parameters)
    first = _first_bad(as_it_was)
    return Culprit(
        step=call.step,
        verdict=verdict,
        bad_inputs=bad_inputs,
        bad_parameters=bad_parameters,
        bad_parts=bad_parts,
        as_it_was=as_it_was,
        in_float32=in_float32,
        samples=() if first is None else _named_rows(first.rows, samples),
        trouble=trouble,
        same_parameters=same_parameters,
    )


def _verdict(
    as_it_was: Passage | None,
    in_float32: Passage | None,
    bad_inputs: tuple[BadTensor, ...],
    bad_parameters: tuple[BadTensor, ...],
) -> Verdict:
    if as_it_was is not None and as_it_was.finite:
        return Verdict.FORWARD_FINITE
    if bad_inputs:
        return Verdict.INPUTS
    if bad_parameters:
        return Verdict.PARAMETERS
    if as_it_was is None:
        return Verdict.NOT_REPEATED
    if in_float32 is not None and in_float32.finite:
        return Verdict.HALF_ONLY
    first = _first_bad(in_float32)
    if first is not None and first.dtype in HALF_NAMES:  # the model casts by itself, whatever is asked of it
        return Verdict.FORWARD_BAD
    return Verdict.FLOAT32_TOO if in_float32 is not None or not as_it_was.has_half else Verdict.FORWARD_BAD


def _try_repeat(model: nn.Module, call: RememberedCall, *, in_float32: bool) -> tuple[Passage | None, str]:
    try:
        return repeat(model, call, in_float32=in_float32), ""
    except Exception as problem:
        how = "in float32" if in_float32 else "as it was"
        return None, f"the call could not be repeated {how}: {error_in_words(problem)}"


def _bad_inputs(call: RememberedCall, samples: tuple[str, ...]) -> tuple[BadTensor, ...]:
    named = [*tensors_within(call.args, "args")]
    for key, value in call.kwargs.items():
        named += tensors_within(value, key)
    if not named:
        return ()
    found = []
    for name, tensor in named:
        size = measure(tensor)
        if not size.finite and not size.is_mask:
            rows = bad_rows(tensor)
            ids = _named_rows(rows, samples) if tensor.dim() and tensor.shape[0] == len(samples) else ()
            found.append(BadTensor(name, size.kind, size.bad_share, rows, ids))
    return tuple(found)


def _bad_buffers(model: nn.Module) -> tuple[BadTensor, ...]:
    """Buffers with NaN or plus infinity; minus infinity alone is how masks are kept."""
    found = []
    for name, buffer in model.named_buffers():
        size = measure(buffer)
        if size.nans or size.infs > size.low_infs:
            found.append(BadTensor(clean_name(name), size.kind, size.bad_share))
    return tuple(found)


def _named_rows(rows: tuple[int, ...], samples: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(samples[row] for row in rows if row < len(samples))


def _is_finite(value: Tensor | float) -> bool:
    if isinstance(value, Tensor):
        return measure(value).finite
    return math.isfinite(value)


def _norm(gradient: Tensor) -> float:
    values = readable(gradient)
    return 0.0 if values is None or not values.numel() else float(torch.linalg.vector_norm(values.double()))


def _has_company() -> bool:
    return (
        torch.distributed.is_available()
        and torch.distributed.is_initialized()
        and torch.distributed.get_world_size() > 1
    )


def _first_bad(passage: Passage | None) -> Output | None:
    if passage is None or passage.first_bad is None:
        return None
    return passage.outputs[passage.first_bad]
