"""Stands between the gradients and the weights: looks at an optimizer's gradients just before they are used.

A step whose gradients are not finite is skipped exactly: weights, moments and counters stay as they were.

    on the device     fused optimizers skip by themselves where `found_inf` says so: nothing waits
    by the scaler     GradScaler skips such steps already; nothing is added
    on the host       for all other optimizers one number is looked at, and the gradients are hidden from them
                      for that step; on a GPU the host waits for it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim import Optimizer

from stethoscope.errors import GuardStopped
from stethoscope.guard.sensing import clip_norm

Grads = list[Tensor]


class Way(StrEnum):
    """How a bad step is kept from the weights."""

    DEVICE = "on the device"
    SCALER = "by the scaler"
    HOST = "on the host"


class Listener(Protocol):
    """Who is told of each step of an optimizer."""

    def before(self, update: Update) -> None:
        """The gradients are final, and the weights as they were."""

    def after(self, update: Update) -> None:
        """The weights have been changed, or not."""

    def captured(self) -> None:
        """A step is being recorded into a CUDA graph, and cannot be looked at."""

    def failed(self, problem: Exception) -> None:
        """Something went wrong in here; training goes on."""


@dataclass(slots=True, eq=False)
class Update:
    """One step of one optimizer: its gradients, their norm, and whether it is skipped, all on the device.

    `scale` divides the gradients inside a fused optimizer; None where they are as they will be used.
    `known_bad` is set where the host knows.
    """

    number: int
    optimizer: Optimizer
    grads: Grads
    way: Way
    norm: Tensor | None = None
    bad: Tensor | None = None
    scale: Tensor | None = None
    known_bad: bool | None = None
    _hidden: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    _given: list[str] = field(default_factory=list)


class Stepping:
    """The hooks on one optimizer. `skips` says whether bad steps are kept from the weights."""

    def __init__(self, number: int, optimizer: Optimizer, listener: Listener, skips: bool) -> None:
        self.number = number
        self.optimizer = optimizer
        self.way = way_of(optimizer)
        self._listener = listener
        self._skips = skips
        self._update: Update | None = None
        self.by_scaler = False  # set while a scaler calls the optimizer
        self.stepped = False  # whether the optimizer was reached since this was last cleared
        self._ear = clip_norm.Ear()
        self._first: Tensor | None = None  # a parameter that had a gradient
        clip_norm.listen()
        self._handles = [
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        ]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    def _before(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Look at the gradients; those that a closure has yet to compute, behind it."""
        # Where the step is being compiled, the hook is traced to nothing: no break and no recompilation.
        if torch.compiler.is_compiling():
            return None
        self.stepped = True
        closure = kwargs.get("closure") or (args[1] if len(args) > 1 else None)
        if not callable(closure):
            self._look()
            return None
        sensed = self._sensed(closure)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": sensed}
        return (args[0], sensed, *args[2:]), kwargs

    def _sensed(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def with_look() -> Any:
            given_back(self._update)  # an optimizer may ask for its gradients more than once
            result = closure()
            self._look()
            return result

        return with_look

    def _look(self) -> None:
        self._update = None
        try:
            self._look_at()
        except GuardStopped:
            raise
        except Exception as problem:
            given_back(self._update)
            self._listener.failed(problem)

    def _look_at(self) -> None:
        heard = self._ear.quick(self._first.grad if self._first is not None else None)
        grads = heard.grads if heard is not None else gradients(self.optimizer)
        if not grads:
            return
        if is_capturing(grads[0]):
            self._listener.captured()
            return
        if heard is None:
            heard = self._ear.full(grads)
            self._first = first_with_gradient(self.optimizer)
        way = Way.SCALER if self.by_scaler else self.way
        norm = heard.norm if heard is not None else None
        clip_norm.forget()
        self._update = looked_at(self.number, self.optimizer, grads, way, norm)
        self._listener.before(self._update)
        if self._skips:
            kept_from_weights(self._update)

    def _after(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        update, self._update = self._update, None
        if update is None:
            return
        try:
            given_back(update)
            self._listener.after(update)
        except GuardStopped:
            raise
        except Exception as problem:
            self._listener.failed(problem)


def gradients(optimizer: Optimizer) -> Grads:
    """The gradients that an optimizer is about to use."""
    groups = optimizer.param_groups
    return [p.grad for group in groups for p in group["params"] if p.grad is not None]


def first_with_gradient(optimizer: Optimizer) -> Tensor | None:
    """The first parameter that has a gradient."""
    groups = optimizer.param_groups
    return next((p for group in groups for p in group["params"] if p.grad is not None), None)


def way_of(optimizer: Optimizer) -> Way:
    """How an optimizer's steps can be skipped."""
    fused = all(group.get("fused") for group in optimizer.param_groups)
    return Way.DEVICE if fused and getattr(optimizer, "_step_supports_amp_scaling", False) else Way.HOST


def looked_at(
    number: int, optimizer: Optimizer, grads: Grads, way: Way, norm: Tensor | None = None
) -> Update:
    """The norm of the gradients as they will be used, and a flag that is 1 where it is not finite.

    `norm` is theirs where somebody has computed it.
    """
    scale = getattr(optimizer, "grad_scale", None)
    if norm is None:
        norm = clip_norm.total_norm(grads)
    if hasattr(norm, "full_tensor"):  # spread over ranks
        norm = norm.full_tensor()
    if norm.requires_grad or norm.dtype is not torch.float32:
        norm = norm.detach().float()
    if scale is not None:
        norm = norm / scale
    # Zero times anything finite is zero; times what is not, it is NaN: two small kernels, and no branch.
    bad = torch.nan_to_num(norm * 0.0, nan=1.0)
    return Update(number, optimizer, grads, way, norm, bad, scale)


def kept_from_weights(update: Update) -> None:
    """Let the optimizer skip this step where its gradients are not finite."""
    if update.bad is None or update.way is Way.SCALER:
        return
    optimizer: Any = update.optimizer
    if update.way is Way.DEVICE:
        if getattr(optimizer, "found_inf", None) is None:
            _give(update, "found_inf", update.bad)
            if not hasattr(optimizer, "grad_scale"):
                _give(update, "grad_scale", None)
        return
    update.known_bad = bool(update.bad)  # on a GPU this waits; on a CPU the number is there
    if update.known_bad:
        hide(update)


def divide(update: Update, divisor: Tensor) -> None:
    """Let gradients be used divided by a number on the device; fused optimizers do it on their way."""
    optimizer: Any = update.optimizer
    if update.way is Way.DEVICE:
        scale = getattr(optimizer, "grad_scale", None)
        _give(update, "grad_scale", divisor if scale is None else divisor * scale)
    else:
        with torch.no_grad():
            torch._foreach_div_(update.grads, divisor)


def hide(update: Update) -> None:
    """Take the gradients away from an optimizer for one step: it leaves parameters without one alone."""
    for group in update.optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                update._hidden.append((parameter, parameter.grad))
                parameter.grad = None


def given_back(update: Update | None) -> None:
    """Undo what was done to the optimizer for one step."""
    if update is None:
        return
    for parameter, grad in update._hidden:
        parameter.grad = grad
    update._hidden.clear()
    for name in update._given:
        if hasattr(update.optimizer, name):
            delattr(update.optimizer, name)
    update._given.clear()


def is_capturing(tensor: Tensor) -> bool:
    """Whether a CUDA graph is being recorded, in which nothing may be looked at."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _give(update: Update, name: str, value: Tensor | None) -> None:
    if not hasattr(update.optimizer, name):
        update._given.append(name)
    setattr(update.optimizer, name, value)
