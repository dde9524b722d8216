"""The bad step of a black box, repeated on a model that a person's own function builds.

`build()` takes nothing and returns one of

    model
    (model, loss)                loss(output, batch) gives the number to minimise
    (model, loss, optimizer)     or a list of optimizers

`output` is what the model gives for the recorded call, and `batch` what the data loader gave, or None where
that was not recorded; the loss is taken under the recorded autocast. The parameters and buffers come from the
black box, whatever `build` put there.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.errors import StethoscopeError
from stethoscope.guard.boxes.black_box import BlackBox, read, sha256
from stethoscope.guard.boxes.box_values import LeftOut
from stethoscope.guard.culprit import backward_pass
from stethoscope.guard.culprit.backward_pass import Backward, Loss, go_backward
from stethoscope.guard.culprit.culprit import Culprit, bad_tensors, error_in_words, find
from stethoscope.guard.culprit.measuring import measure
from stethoscope.guard.culprit.recall import Autocast, RememberedCall, unwrapped
from stethoscope.guard.culprit.repeating import WIDE_BYTES, clean_name, is_in_half
from stethoscope.guard.culprit.verdict import BadTensor, listed
from stethoscope.guard.culprit.within import mapped

HALVES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
NO_HALF = "none"


@dataclass(frozen=True, slots=True)
class Built:
    """What a person's function gave."""

    model: nn.Module
    loss: Loss | None = None
    optimizers: tuple[torch.optim.Optimizer, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a repetition. `bit_identical` is None where the first run left nothing to compare with."""

    step: int
    forward: Culprit
    backward: Backward | None = None
    backward_in_float32: Backward | None = None
    spoiled: tuple[BadTensor, ...] | None = None
    same_place: bool | None = None
    bit_identical: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def repeated(self) -> bool:
        """Whether something is not finite this time, too."""
        forward_bad = self.forward.as_it_was is not None and not self.forward.as_it_was.finite
        backward_bad = self.backward is not None and not self.backward.finite
        return forward_bad or backward_bad or bool(self.spoiled)

    def verdict(self) -> str:
        """What came of it, in words."""
        if self.forward.as_it_was is not None and not self.forward.as_it_was.finite:
            return self.forward.text()
        if self.backward is not None and not self.backward.finite:
            return backward_pass.in_words(self.backward, self.backward_in_float32)
        if self.spoiled:
            names = listed([bad.name for bad in self.spoiled])
            return f"Every gradient is finite, and the optimizer's step makes {names} not finite."
        looked = ["the forward pass"]
        looked += ["the loss", "the backward pass"] if self.backward is not None else []
        looked += ["the optimizer's step"] if self.spoiled is not None else []
        return f"The step is finite on replay: {', '.join(looked)}."

    def facts(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "step": self.step,
            "repeated": self.repeated,
            "verdict": self.verdict(),
            "same_place": self.same_place,
            "bit_identical": self.bit_identical,
            "forward": self.forward.facts(),
            "backward": backward_pass.facts(self.backward),
            "backward_in_float32": backward_pass.facts(self.backward_in_float32),
            "spoiled": None if self.spoiled is None else [asdict(one) for one in self.spoiled],
            "notes": list(self.notes),
        }


def read_for(device: str, path: str) -> BlackBox:
    """Read a black box onto a device; raises StethoscopeError where there is none of either."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as problem:
        raise StethoscopeError(f"the device {device} cannot be used: {error_in_words(problem)}.") from problem
    return read(path, device)


def replay(
    box: BlackBox, build: Callable[[], Any], *, half: str | None = None, device: str = "cpu"
) -> Replay:
    """Repeat the step; `half` is another precision to autocast to, "none" for none.

    Raises StethoscopeError where it cannot be repeated.
    """
    call = _recorded_call(box, half, device)
    built = _built(build)
    model = unwrapped(built.model).to(device)
    notes = [*_load(model, box), *_differences(box, call, device)]
    _set_modes(model, call, box)
    forward = find(model, call, samples=box.told.get("samples"), same_parameters=box.exact)
    if forward.as_it_was is None:
        raise StethoscopeError(f"step {box.step} cannot be repeated: {forward.trouble}.")
    same_place, bit_identical = _compared(forward, box.culprit) if half is None else (None, None)
    result = Replay(box.step, forward, same_place=same_place, bit_identical=bit_identical, notes=tuple(notes))
    return result if built.loss is None else _with_backward(result, model, built, call, box)


# --- getting ready


def _recorded_call(box: BlackBox, half: str | None, device: str) -> RememberedCall:
    call = box.call
    if call is None:
        raise StethoscopeError(f"{box.path} holds no call of the model{_why_left_out(box, 'batch')}.")
    if box.sharded:
        raise StethoscopeError(f"{box.path} holds one rank's shard of the parameters, not the whole model.")
    missing = [name for name, value in _left_out((call.args, call.kwargs), "call") if value]
    if missing:
        raise StethoscopeError(f"{box.path} could not hold every argument of the call: {listed(missing)}.")
    kind = torch.device(device).type
    autocast = tuple(
        replace(one, device_type=kind) if one.device_type == box.told["home"] else one
        for one in call.autocast
    )
    if half is not None:
        autocast = () if half == NO_HALF else (Autocast(kind, HALVES[half]),)
    return replace(call, autocast=autocast)


def _left_out(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, LeftOut):
        yield f"{name} ({value.kind})", value.kind
    parts: Sequence[tuple[object, Any]] = ()
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, (list, tuple)):
        parts = list(enumerate(value))
    elif hasattr(value, "__dict__") and not isinstance(value, Tensor):
        parts = list(vars(value).items())
    for key, part in parts:
        yield from _left_out(part, f"{name}.{key}")


def _why_left_out(box: BlackBox, what: str) -> str:
    found = next((one for one in box.left_out if one.startswith(what)), "")
    return f" ({found})" if found else ""


def _built(build: Callable[[], Any]) -> Built:
    try:
        given = build()
    except Exception as problem:
        raise StethoscopeError(
            f"the function given with --build failed: {error_in_words(problem)}."
        ) from problem
    parts = given if isinstance(given, tuple) else (given,)
    model, loss, optimizers = (*parts, None, None)[:3]
    if not isinstance(model, nn.Module) or len(parts) > 3 or not (loss is None or callable(loss)):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise StethoscopeError(
            f"the function given with --build returned ({kinds}); "
            "it must return a model, (model, loss) or (model, loss, optimizer)."
        )
    several = optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]
    return Built(model, loss, tuple(one for one in several if one is not None))


def _load(model: nn.Module, box: BlackBox) -> list[str]:
    """Put the recorded parameters and buffers into the model, and say what was left as it was built."""
    parameters = {clean_name(name): one for name, one in model.named_parameters(remove_duplicate=False)}
    buffers = {clean_name(name): one for name, one in model.named_buffers(remove_duplicate=False)}
    notes = []
    if box.parameters is None:
        notes.append(f"The parameters are those that build() gave{_why_left_out(box, 'parameters')}.")
        notes += _checkpoint_note(box)
    else:
        _must_match("parameters", box.parameters, parameters)
        _copy(box.parameters, parameters)
    if box.buffers is None:
        notes.append(f"The buffers are those that build() gave{_why_left_out(box, 'buffers')}.")
    else:
        kept = {name: one for name, one in box.buffers.items() if name in box.persistent or name in buffers}
        lasting = {name: one for name, one in buffers.items() if name in kept or name in box.persistent}
        _must_match("buffers", kept, lasting)
        _copy(kept, lasting)
    return notes


def _must_match(what: str, recorded: Mapping[str, Tensor], built: Mapping[str, Tensor]) -> None:
    missing, unexpected = sorted(recorded.keys() - built.keys()), sorted(built.keys() - recorded.keys())
    other = [
        f"{name} ({list(one.shape)} recorded, {list(built[name].shape)} built)"
        for name, one in recorded.items()
        if name in built and one.shape != built[name].shape
    ]
    problems = [
        f"{text}: {listed(names)}"
        for text, names in (
            ("the model has not", missing),
            ("the black box has not", unexpected),
            ("of another shape", other),
        )
        if names
    ]
    if problems:
        raise StethoscopeError(f"the model that build() gave has other {what}; {'; '.join(problems)}.")


def _copy(recorded: Mapping[str, Tensor], built: Mapping[str, Tensor]) -> None:
    """Give the built tensors the recorded values and types; an optimizer keeps its hold on them."""
    for name, tensor in recorded.items():
        built[name].data = tensor.to(built[name].device, copy=True)


def _checkpoint_note(box: BlackBox) -> list[str]:
    if box.checkpoint is None:
        return []
    path = box.checkpoint.path
    if not os.path.isfile(path):
        return [f"The checkpoint {path} that stands in for them is not there."]
    same = os.path.getsize(path) == box.checkpoint.size and sha256(path) == box.checkpoint.sha256
    return [
        f"The checkpoint {path} that stands in for them is {'unchanged' if same else 'another one by now'}."
    ]


def _differences(box: BlackBox, call: RememberedCall, device: str) -> list[str]:
    """What is known to be unlike the first time."""
    notes = []
    if not box.exact:
        when = f" (of step {box.parameters_from_step})" if box.parameters_from_step is not None else ""
        notes.append(f"The parameters are not those that step {box.step} began with{when}.")
    kind, home = torch.device(device).type, str(box.told["home"])
    if kind != home:
        notes.append(f"The step ran on {home} and is repeated on {kind}: rounding and random numbers differ.")
    if isinstance(box.told["call"], Mapping) and box.told["call"].get("changed") is True:
        notes.append("An argument was written to after the model was called, before the black box was.")
    recorded = str((box.told.get("environment") or {}).get("torch", ""))
    if recorded and recorded != torch.__version__:
        notes.append(f"The step ran with torch {recorded}, and this is {torch.__version__}.")
    return notes


def _set_modes(model: nn.Module, call: RememberedCall, box: BlackBox) -> None:
    model.train(call.training)
    for name, module in model.named_modules():
        if clean_name(name) in box.other_mode:
            module.training = not call.training


def _compared(forward: Culprit, recorded: Mapping[str, Any]) -> tuple[bool | None, bool | None]:
    """Whether the first bad module is the same as the first time, and whether the output is, bit for bit."""
    if recorded.get("finite_as_it_was") is None or forward.as_it_was is None:
        return None, None
    first = recorded.get("first_bad") or {}
    name = None if forward.first_bad is None else forward.first_bad.name
    digest = recorded.get("digest")
    return (
        recorded["finite_as_it_was"] == forward.as_it_was.finite and first.get("module") == name,
        digest == forward.as_it_was.digest if digest and forward.as_it_was.digest else None,
    )


# --- backwards


def _with_backward(
    result: Replay, model: nn.Module, built: Built, call: RememberedCall, box: BlackBox
) -> Replay:
    loss = built.loss
    assert loss is not None
    wide = wide_call = None
    if is_in_half(model, call):
        wide, wide_call = _widened(model, call)
    recorded = box.loss_scale or 1.0
    scale = recorded if math.isfinite(recorded) else 1.0
    first = go_backward(model, loss, call, scale)
    in_float32 = None
    if wide is not None and wide_call is not None and not first.finite:
        in_float32 = replace(go_backward(wide, loss, wide_call, 1.0), precision="float32")
    spoiled, notes = _stepped(model, built, box) if built.optimizers else (None, [])
    return replace(
        result,
        backward=first,
        backward_in_float32=in_float32,
        spoiled=spoiled,
        notes=(*result.notes, *notes),
    )


def _widened(model: nn.Module, call: RememberedCall) -> tuple[nn.Module | None, RememberedCall]:
    def wide(value: Any) -> Any:
        return mapped(
            value,
            lambda one: one.float() if one.is_floating_point() and one.element_size() < WIDE_BYTES else one,
        )

    widened = replace(
        call, args=wide(call.args), kwargs=wide(call.kwargs), batch=wide(call.batch), autocast=()
    )
    try:
        return copy.deepcopy(model).float(), widened
    except Exception:  # what cannot be copied is looked at in one precision only
        return None, widened


def _stepped(model: nn.Module, built: Built, box: BlackBox) -> tuple[tuple[BadTensor, ...] | None, list[str]]:
    """Take the optimizer's step with the gradients there are, and give the parameters that it spoils."""
    notes = []
    try:
        if box.optimizers is not None and len(box.optimizers) == len(built.optimizers):
            for optimizer, state in zip(built.optimizers, box.optimizers, strict=True):
                optimizer.load_state_dict(state)
        else:
            notes.append("The optimizer's state is that of build(): the black box holds none that fits.")
        if any(not measure(one.grad).finite for one in model.parameters() if one.grad is not None):
            return None, [*notes, "The optimizer's step was not taken: gradients are not finite."]
        for optimizer in built.optimizers:
            optimizer.step()
    except Exception as problem:
        return None, [*notes, f"The optimizer's step could not be taken: {error_in_words(problem)}."]
    return bad_tensors(model.named_parameters()), notes
