"""The hot path: what is done at every step, without waiting for the device.

Each step of the optimizers becomes one row of numbers on the device. A window of rows at a time travels to
the host, where it becomes observations; on a CPU all numbers are at hand, and nothing lags.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.errors import GuardStopped
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy
from stethoscope.guard.rewind.rewinding import Rate, give_back, slow_down
from stethoscope.guard.sensing.ring import Ring, Window, writes_to
from stethoscope.guard.sensing.scaler_watch import ScalerWatch
from stethoscope.guard.sensing.senses import (
    Amount,
    InputSense,
    Taken,
    UpdateRatio,
    copied,
    loss_names,
    on_host,
    row,
)
from stethoscope.guard.sensing.stepping import Stepping, Update, Way, divide

MOST_BATCHES = 512  # of one step; more, and its steps are not seen
RATIO_STEPS = 64  # updates between two measurements of the update ratio
ONLY_LOSS = loss_names(())


@dataclass(frozen=True, slots=True, eq=False)
class Travelling:
    """A window of steps on its way to the host, and what the host knows of them already."""

    window: Window
    steps: list[tuple[int, float, dict[str, float]]]  # the step, its wall clock, and what is known of it

    def observations(self) -> list[Observation]:
        """The steps, with all that is known of them."""
        arrived = zip(self.steps, self.window.rows(), strict=True)
        return [Observation(step, wall, known | seen) for (step, wall, known), seen in arrived]


class Session:
    """The senses of one training. `arrived` gives the steps that can be judged, in order."""

    def __init__(
        self,
        model: nn.Module | None,
        optimizers: Sequence[Optimizer],
        scaler: Any,
        policy: Policy,
        failed: Callable[[Exception], None],
        evaluating: Callable[[], None] | None = None,
    ) -> None:
        self.policy = policy
        self.step = 0
        self.device = _device(model, optimizers)
        self.lags = is_not_waited_for(self.device)  # whether steps are judged a window later
        self.failed = failed
        self.spike_bar: float = math.inf  # a gradient norm above it is cut down ...
        self.spike_level: float = math.inf  # ... to this
        self.rate_factor: Callable[[int], float] | None = None
        self.moved: Callable[[int], None] = lambda step: None  # called when a step is over, with the next one
        self.complete: Callable[[], None] = lambda: None  # called when steps may have arrived
        self.unseen: Callable[[str], None] = lambda why: None  # called when steps cannot be seen
        self.before_step: Callable[[Update], None] | None = None
        self.after_step: Callable[[Update], None] | None = None
        self._parameters = [p for one in optimizers for group in one.param_groups for p in group["params"]]
        self._steppings = [
            Stepping(number, one, self, policy.protects) for number, one in enumerate(optimizers)
        ]
        self._scaler = _watched(scaler, self._steppings, self.skipped_by_scaler, policy)
        self._evaluating = evaluating  # called when the model is about to be evaluated
        self._inputs: InputSense | None = None
        if model is not None and (evaluating is not None or not self.lags):
            self._inputs = InputSense(model, self._evaluate, not self.lags)
        self._ratio = UpdateRatio()
        self.waited = 0.0  # seconds for data, since the last step
        self._last = time.perf_counter()
        self._taken = Taken()
        self._window: list[Taken] = []
        self._ring = Ring(self.device)
        self._copies = False  # whether losses are copied at once
        self._travelling: deque[Travelling] = deque()
        self._rates: list[Rate] = []
        self.is_sensing = True

    @property
    def ways(self) -> tuple[Way, ...]:
        """How the steps of each optimizer are skipped."""
        scaled = self._scaler is not None and self._scaler.is_enabled
        return tuple(Way.SCALER if scaled else stepping.way for stepping in self._steppings)

    def remove(self) -> None:
        """Take all hooks off again."""
        for stepping in self._steppings:
            stepping.remove()
        for one in (self._scaler, self._inputs):
            if one is not None:
                one.remove()

    # --- what the loop gives

    def loss(self, loss: Amount, parts: Mapping[str, Amount] | None) -> None:
        """Take the loss of one batch, and its parts."""
        batches = self._taken.batches
        if batches:
            self._look_for_steps(len(batches))
            if not self._copies and self.lags:
                self._copies = True  # the memory of one batch may be that of the next
                batches.clear()
        names = loss_names(tuple(parts)) if parts else ONLY_LOSS
        given = (loss, *parts.values()) if parts else (loss,)
        if not self.lags:
            batches.append((names, [on_host(one) for one in given], [0] * len(given)))
            return
        amounts: list[Amount] = []
        writes: list[int] = []
        for one in given:
            count = 0
            if isinstance(one, Tensor):
                one = one.detach().clone() if self._copies else one.detach()
                count = writes_to(one)
            amounts.append(one)
            writes.append(count)
        batches.append((names, amounts, writes))

    def _look_for_steps(self, batches: int) -> None:
        """Say so where losses come and steps do not."""
        if any(stepping.is_compiled for stepping in self._steppings):
            self.unseen("Steps of an optimizer run inside compiled code.")
        if batches == MOST_BATCHES:
            self.unseen(f"{MOST_BATCHES} losses were given, and none of the optimizers has stepped since.")

    def _evaluate(self) -> None:
        if self._evaluating is None:
            return
        try:
            self._evaluating()
        except GuardStopped:
            raise
        except Exception as problem:
            self.failed(problem)

    # --- what the optimizers tell

    def before(self, update: Update) -> None:
        """Gradients are final: cut a spike, slow the rate, and keep a sample of the weights."""
        if self._taken.updates:
            self._begin_again(update)
        if not self.is_sensing:
            return
        if update.number == 0 and self.step % RATIO_STEPS == 0:
            self._ratio.before(self._parameters)
        if self.spike_bar < math.inf:
            self._cut(update)
        if self.before_step is not None:
            self.before_step(update)
        if self.rate_factor is not None:
            factor = self.rate_factor(self.step)
            if factor != 1.0:
                self._rates = slow_down(update.optimizer, factor)

    def after(self, update: Update) -> None:
        """The optimizer has stepped, or has been kept from it."""
        if self._rates:
            give_back(self._rates)
        taken = self._taken
        update.grads = []  # they are not kept alive
        taken.updates.append(update)
        if update.number == 0 and self.is_sensing:
            rate = update.optimizer.param_groups[0]["lr"]
            taken.rate = rate if isinstance(rate, float) else copied(rate)  # schedules write to a tensor
            if self.step % RATIO_STEPS == 0:
                taken.ratio = self._ratio.after()
        if self.after_step is not None:
            self.after_step(update)
        if len(taken.updates) == len(self._steppings):
            self._close()

    def _begin_again(self, update: Update) -> None:
        """Close the step where an optimizer takes its next one before the others have taken theirs."""
        if any(one.number == update.number for one in self._taken.updates):
            self._close()

    def captured(self) -> None:
        """A step is recorded into a CUDA graph: its replays never come by here."""
        self.unseen("Steps are recorded into a CUDA graph.")

    def skipped_by_scaler(self, update: Update) -> None:
        """The scaler did not call the optimizer at all."""
        self._begin_again(update)
        self.after(update)

    def undo_backoffs(self, count: int) -> None:
        """Raise the loss scale again after so many steps whose loss itself was not finite."""
        if count and self._scaler is not None and self._scaler.is_enabled and self.policy.protects:
            self._scaler.undo_backoffs(count)

    # --- rows

    def arrived(self) -> list[Observation]:
        """The steps that can be judged by now."""
        self._send()
        found: list[Observation] = []
        while self._travelling and (not self.lags or self._is_due(self._travelling[0])):
            found += self._travelling.popleft().observations()
        return found

    def flush(self) -> list[Observation]:
        """All steps that are not judged yet; this waits for the device."""
        self._send()
        found = [one for window in self._travelling for one in window.observations()]
        self._travelling.clear()
        return found

    def _send(self) -> None:
        """Send the steps that were taken down to the host."""
        taken, self._window = self._window, []
        if taken:
            rows = [row(one, self.device, self.policy.protects) for one in taken]
            window = self._ring.send([one.seen for one in rows])
            self._copies |= not self._ring.is_steady
            steps = [(one.step, one.wall, ordered.known) for one, ordered in zip(taken, rows, strict=True)]
            self._travelling.append(Travelling(window, steps))

    def _close(self) -> None:
        """End the taking down of a step, and send the window that it fills."""
        taken, self._taken = self._taken, Taken()
        try:
            if self.is_sensing:
                self._take_down(taken)
        finally:
            self.step += 1
            self.moved(self.step)
        if not self.lags or self.step % self.policy.window == 0:
            self.complete()

    def _take_down(self, taken: Taken) -> None:
        at = time.perf_counter()
        taken.step, taken.wall = self.step, time.time()
        taken.step_time, taken.data_time = at - self._last, self.waited
        self._last, self.waited = at, 0.0
        if self._inputs is not None:
            taken.given = self._inputs.take()
        if self._scaler is not None and self._scaler.is_enabled:
            taken.scale = self._scaler.seen()
        self._window.append(taken)

    def _is_due(self, travelling: Travelling) -> bool:
        """Whether a whole window has passed since: by then the copy is done, and nothing waits."""
        return self.step >= travelling.steps[-1][0] + 1 + self.policy.window

    # --- acting on the device

    def _cut(self, update: Update) -> None:
        """Divide gradients whose norm stands above the bar, so that it is the usual one; others by one."""
        over = update.norm / self.spike_level
        is_spike = (update.norm > self.spike_bar) & (over < math.inf)
        divide(update, torch.where(is_spike, over, 1.0))


def is_not_waited_for(device: torch.device) -> bool:
    """Whether numbers on a device are looked at later, when they have arrived by themselves."""
    return device.type != "cpu"


def _device(model: nn.Module | None, optimizers: Sequence[Optimizer]) -> torch.device:
    """The device of the first parameter that is on one."""
    held = (p for one in optimizers for group in one.param_groups for p in group["params"])
    parameters = (*held, *(model.parameters() if model is not None else ()))
    return next((p.device for p in parameters if not p.is_meta), torch.device("cpu"))


def _watched(
    scaler: Any, steppings: Sequence[Stepping], skipped: Callable[[Update], None], policy: Policy
) -> ScalerWatch | None:
    if scaler is None:
        return None
    return ScalerWatch(scaler, steppings, skipped, policy.scale_floor if policy.protects else None)
