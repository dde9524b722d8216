"""One backward pass on the slow path, and where its first gradient that is not finite comes from."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from stethoscope.errors import StethoscopeError
from stethoscope.guard.culprit.culprit import GradientSize, bad_gradients, error_in_words
from stethoscope.guard.culprit.measuring import measure
from stethoscope.guard.culprit.recall import RememberedCall
from stethoscope.guard.culprit.repeating import casting, clean_name, precision_in_words, seed
from stethoscope.guard.culprit.verdict import MOST_NAMED
from stethoscope.guard.culprit.within import tensors_within

Loss = Callable[[Any, Any], Tensor]
FRAME = re.compile(r'File "(.+?)", line (\d+), in ')
OWN_FOLDERS = (os.path.dirname(torch.__file__), os.path.dirname(__file__))


@dataclass(frozen=True, slots=True)
class Backward:
    """A backward pass: the loss, the worst gradients, and where the first one that is not finite comes from.

    `first` is the module to whose output that gradient comes back, `function` the operation whose backward
    pass is the first to go wrong, and `line` the code that called it.
    """

    precision: str
    loss: float
    gradients: tuple[GradientSize, ...]
    first: str = ""
    function: str = ""
    line: str = ""

    @property
    def finite(self) -> bool:
        """Whether the loss and every gradient are finite."""
        return math.isfinite(self.loss) and not self.bad

    @property
    def bad(self) -> tuple[GradientSize, ...]:
        """The gradients that are not finite."""
        return tuple(one for one in self.gradients if one.bad_share)


def go_backward(model: nn.Module, loss: Loss, call: RememberedCall, scale: float = 1.0) -> Backward:
    """Call the model and the loss as recorded, and let gradients, of the loss times `scale`, flow back.

    The gradients stay with the parameters, divided by `scale` again.
    """
    arriving: list[str] = []
    model.zero_grad(set_to_none=True)
    with _gradients_witnessed(model, arriving):
        value = _loss(model, loss, call)
        if value.requires_grad:
            (value * scale).backward()  # type: ignore[no-untyped-call]
    for parameter in model.parameters():
        if parameter.grad is not None and scale != 1.0:
            parameter.grad.div_(scale)
    number = float(value.detach())
    gradients = bad_gradients(model.named_parameters(), most=len(list(model.parameters())))
    function = line = ""
    if math.isfinite(number) and any(one.bad_share for one in gradients):
        function, line = _origin(model, loss, call, scale)
    first = arriving[0] if arriving and math.isfinite(number) else ""
    return Backward(precision_in_words(call.autocast), number, gradients, first, function, line)


def in_words(backward: Backward, in_float32: Backward | None) -> str:
    """What is wrong with a backward pass, beside the same in float32."""
    if not math.isfinite(backward.loss):
        return f"The forward pass is finite, and the loss is not: it is {backward.loss}."
    bad = backward.bad
    text = (
        f"The forward pass and the loss ({backward.loss:.6g}) are finite, and the backward pass is not: "
        f"{len(bad)} of {len(backward.gradients)} gradients hold NaN or infinity."
    )
    if in_float32 is not None:
        text += (
            " In float32 it is finite: half precision, or the loss scale, is too much for it."
            if in_float32.finite
            else " So it is in float32."
        )
    if backward.first:
        text += f" The first comes back to the output of {backward.first}: look at what is computed from it."
    if backward.function:
        at = f", called at {backward.line}" if backward.line else ""
        text += f" It begins in {backward.function}{at}."
    return text


def facts(backward: Backward | None) -> dict[str, object] | None:
    """A backward pass for programs."""
    if backward is None:
        return None
    return {
        "precision": backward.precision,
        "loss": backward.loss,
        "finite": backward.finite,
        "bad_gradients": len(backward.bad),
        "gradients": [asdict(one) for one in backward.gradients[:MOST_NAMED]],
        "first": backward.first,
        "function": backward.function,
        "line": backward.line,
    }


def _loss(model: nn.Module, loss: Loss, call: RememberedCall) -> Tensor:
    seed(call.randomness)
    module = model.get_submodule(call.module)
    with casting(call.autocast), torch.enable_grad():
        try:
            value = loss(module(*call.args, **call.kwargs), call.batch)
        except Exception as problem:
            raise StethoscopeError(
                f"the loss that build() gave failed: {error_in_words(problem)}."
            ) from problem
    if not isinstance(value, Tensor) or value.numel() != 1:
        what = f"a tensor of shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise StethoscopeError(f"the loss that build() gave returned {what}; it must return one number.")
    return value.reshape(())


@contextmanager
def _gradients_witnessed(model: nn.Module, arriving: list[str]) -> Iterator[None]:
    """Write down to which outputs of modules a gradient comes back that is not finite, in that order."""

    def listen(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def arrived(gradient: Tensor) -> None:
            if not measure(gradient).finite:
                arriving.append(name)

        def left(module: nn.Module, args: Any, result: Any) -> None:
            for _, tensor in tensors_within(result, ""):
                if tensor.requires_grad:
                    tensor.register_hook(arrived)  # type: ignore[no-untyped-call]

        return left

    handles = [
        module.register_forward_hook(
            listen(f"{clean_name(name) or 'the model itself'} ({type(module).__name__})")
        )
        for name, module in model.named_modules()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _origin(model: nn.Module, loss: Loss, call: RememberedCall, scale: float) -> tuple[str, str]:
    """The first operation that makes finite gradients something else, and the line that called it."""
    found: list[tuple[str, str]] = []

    def listen(node: Node) -> Callable[[Sequence[Tensor | None], Sequence[Tensor | None]], None]:
        def passed(given: Sequence[Tensor | None], arrived: Sequence[Tensor | None]) -> None:
            if not found and _are_finite(arrived) and not _are_finite(given):
                found.append((node.name(), _line(node)))

        return passed

    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True, check_nan=False):
        warnings.simplefilter("ignore")
        scaled = _loss(model, loss, call) * scale
        handles = [node.register_hook(listen(node)) for node in _graph(scaled)]
        scaled.backward()  # type: ignore[no-untyped-call]
    for handle in handles:
        handle.remove()
    return found[0] if found else ("", "")


def _graph(value: Tensor) -> list[Node]:
    """Every operation behind a value, except those that only gather the gradients of parameters."""
    nodes: dict[Node, None] = {}
    waiting = [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes and not hasattr(node, "variable"):
            nodes[node] = None
            waiting += [following for following, _ in node.next_functions]
    return list(nodes)


def _line(node: Node) -> str:
    """Where the operation was called, by the traceback that anomaly mode leaves with it."""
    kept: Any = node.metadata  # declared as a method, and a dict all the same
    frames = FRAME.findall("".join(kept.get("traceback_", ())))
    own = [f"{file}:{line}" for file, line in frames if not file.startswith(OWN_FOLDERS)]
    return own[-1] if own else ""


def _are_finite(gradients: Sequence[Tensor | None]) -> bool:
    return all(measure(one).finite for one in gradients if one is not None)
