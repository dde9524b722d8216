"""Stands between the gradients and the weights: looks at an optimizer's gradients just before they are used.

A step whose gradients are not finite is skipped exactly: weights, moments and counters stay as they were.

    on the device     fused optimizers skip by themselves where `found_inf` says so: nothing waits
    by the scaler     GradScaler skips such steps already; nothing is added
    on the host       for all other optimizers one number is looked at, and the gradients are hidden from them
                      for that step; on a GPU the host waits for it
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim import Optimizer

from stethoscope.errors import GuardStopped
from stethoscope.guard.sensing import clip_norm
from stethoscope.guard.sensing.step_counters import StepCounters

Grads = list[Tensor]
FOUND_INF = "found_inf"  # where fused optimizers look for a flag
FLAGS = 64  # made at a time


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

    `bad` is 1 where the norm is not finite. `known_bad` is set where the host knows; then there may be no
    `bad`. `divided` says that a fused optimizer divides the gradients by a number on its way.
    """

    number: int
    optimizer: Optimizer
    grads: Grads
    way: Way
    norm: Tensor
    bad: Tensor | None = None
    known_bad: bool | None = None
    divided: bool = False
    hidden: list[tuple[Tensor, Tensor]] | None = None


class Stepping:
    """The hooks on one optimizer. `skips` says whether bad steps are kept from the weights."""

    def __init__(self, number: int, optimizer: Optimizer, listener: Listener, skips: bool) -> None:
        self.number = number
        self.optimizer = optimizer
        self.way = way_of(optimizer)
        self._listener = listener
        self._skips = skips
        self._flags = Flags()
        self._counters = StepCounters(optimizer)
        self._update: Update | None = None
        self.is_compiled = False  # whether a step has run inside compiled code, where it cannot be seen
        self.by_scaler = False  # set while a scaler calls the optimizer
        self.stepped = False  # whether the optimizer was reached since this was last cleared
        self._ear = clip_norm.Ear()
        self._first: Tensor | None = None  # a parameter that had a gradient
        clip_norm.listen(self)
        self._handles = [
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        ]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()
        clip_norm.leave(self)
        self._counters.leave()

    def _before(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Look at the gradients; those that a closure has yet to compute, behind it."""
        # Where the step is being compiled, this assignment is all that is left of the hook: no break in the
        # graph, and nothing is compiled again.
        if torch.compiler.is_dynamo_compiling():
            self.is_compiled = True
            return None
        self.stepped = True
        closure = kwargs.get("closure") if kwargs else None
        if closure is None and len(args) > 1:
            closure = args[1]
        if not callable(closure):
            self._look()
            return None
        sensed = self._sensed(closure)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": sensed}
        return (args[0], sensed, *args[2:]), kwargs

    def _sensed(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        def with_look() -> Any:
            self._give_back()  # an optimizer may ask for its gradients more than once
            result = closure()
            self._look()
            return result

        return with_look

    def _look(self) -> None:
        """Look at the gradients. This runs once a step and finds its code cold, so it makes few calls."""
        try:
            heard = self._ear.quick(self._first.grad if self._first is not None else None)
            grads = heard[0] if heard is not None else gradients(self.optimizer)
            if not grads:
                return
            if grads[0].is_cuda and torch.cuda.is_current_stream_capturing():
                self._listener.captured()
                return
            if heard is None:
                heard = self._ear.full(grads)
                self._first = first_with_gradient(self.optimizer)
            clip_norm.forget()
            norm = heard[1] if heard is not None else clip_norm.total_norm(grads)
            if type(norm) is not Tensor or norm.requires_grad or norm.dtype is not torch.float32:
                norm = plain_norm(norm)
            scale = getattr(self.optimizer, "grad_scale", None)
            if scale is not None:
                norm = norm / scale
            self._update = update = Update(self.number, self.optimizer, grads, self.way, norm)
            self._judge(update)
            self._listener.before(update)
            if self._skips:
                self._keep_from_weights(update)
        except GuardStopped:
            raise
        except Exception as problem:
            self._give_back()
            self._listener.failed(problem)

    def _judge(self, update: Update) -> None:
        """Say who knows whether the norm is finite, without waiting for the device."""
        update.bad = getattr(self.optimizer, FOUND_INF, None)
        if self.by_scaler or update.bad is not None:
            update.way = Way.SCALER
            if update.bad is None:  # it calls an optimizer that cannot skip by itself in good steps only
                update.known_bad = False
        elif update.norm.is_cpu:
            update.way = Way.HOST
            update.known_bad = not math.isfinite(update.norm.item())
        elif self._skips:
            update.bad = self._flags.of(update.norm)

    def _keep_from_weights(self, update: Update) -> None:
        """Let the optimizer skip this step where its gradients are not finite."""
        if update.way is Way.HOST:
            if update.known_bad is None:
                update.known_bad = bool(update.bad)  # this waits for the device
            if update.known_bad:
                update.hidden = hidden(update.optimizer)
            return
        if update.bad is not None:
            self._counters.listen(update.bad)
        if update.way is Way.DEVICE:
            optimizer: Any = update.optimizer
            optimizer.found_inf = update.bad
            if not update.divided:
                optimizer.grad_scale = None

    def _give_back(self) -> None:
        """Undo what was done to the optimizer for one step."""
        update, self._update = self._update, None
        if update is None:
            return
        if update.hidden is not None:
            for parameter, grad in update.hidden:
                parameter.grad = grad
            update.hidden = None
        if update.way is Way.DEVICE:
            held = update.optimizer.__dict__
            held.pop(FOUND_INF, None)
            held.pop("grad_scale", None)
        self._counters.leave()

    def _after(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        update = self._update
        if update is None:
            return
        try:
            self._give_back()
            self._listener.after(update)
        except GuardStopped:
            raise
        except Exception as problem:
            self._listener.failed(problem)


class Flags:
    """Says on the device whether norms are finite, with one kernel each; the zeros are made in advance."""

    def __init__(self) -> None:
        self._zeros: list[Tensor] = []
        self._one: Tensor | None = None

    def of(self, norm: Tensor) -> Tensor:
        """A number that is 1 where the norm is not finite, and else 0."""
        if not norm.is_cuda:
            return torch.nan_to_num(norm * 0.0, nan=1.0)
        if self._one is None or not self._zeros:
            self._one = torch.ones_like(norm)
            self._zeros = list(torch.zeros(FLAGS, dtype=norm.dtype, device=norm.device).unbind(0))
        flag = self._zeros.pop()
        torch._amp_foreach_non_finite_check_and_unscale_([norm], flag, self._one)
        return flag


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


def plain_norm(norm: Tensor) -> Tensor:
    """A norm as one float32 number without a graph."""
    if hasattr(norm, "full_tensor"):  # spread over ranks
        norm = norm.full_tensor()
    return norm.detach().float()


def divide(update: Update, divisor: Tensor) -> None:
    """Let gradients be used divided by a number on the device; fused optimizers do it on their way."""
    optimizer: Any = update.optimizer
    if update.way is Way.DEVICE:
        optimizer.grad_scale = divisor
        update.divided = True
    else:
        with torch.no_grad():
            torch._foreach_div_(update.grads, divisor)


def hidden(optimizer: Optimizer) -> list[tuple[Tensor, Tensor]]:
    """Take the gradients away from an optimizer for one step: it leaves parameters without one alone."""
    taken: list[tuple[Tensor, Tensor]] = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                taken.append((parameter, parameter.grad))
                parameter.grad = None
    return taken


def is_capturing(tensor: Tensor) -> bool:
    """Whether a CUDA graph is being recorded, in which nothing may be looked at."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()
