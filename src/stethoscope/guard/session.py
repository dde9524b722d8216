"""The hot path: what is done at every step, without waiting for the device.

Each step of the optimizers becomes one row of numbers on the device. A window of rows at a time travels to
the host, where it becomes observations; on a CPU all numbers are at hand, and nothing lags.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from stethoscope.errors import GuardStopped
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy
from stethoscope.guard.rewind.rewinding import Rate, give_back, slow_down
from stethoscope.guard.sensing.ring import Ring, Window
from stethoscope.guard.sensing.scaler_watch import ScalerWatch
from stethoscope.guard.sensing.senses import Amount, Clock, InputSense, Row, UpdateRatio, on_device, on_host
from stethoscope.guard.sensing.stepping import Stepping, Update, Way, divide

LOSS = "loss"
RATIO = "update_ratio"
MOST_BATCHES = 512  # of one step; more, and its steps are not seen


@dataclass(frozen=True, slots=True)
class Known:
    """What the host knows of a step before the device has answered."""

    step: int
    wall: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Travelling:
    """A window of steps on its way to the host, and what the host knows of them already."""

    window: Window
    known: list[Known]

    def observations(self) -> list[Observation]:
        """The steps, with all that is known of them."""
        return [
            Observation(known.step, known.wall, {**known.values, **seen})
            for seen, known in zip(self.window.rows(), self.known, strict=True)
        ]


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
        self.batch = 0
        self.device = _device(model, optimizers)
        self.failed = failed
        self.spike_bar: float = math.inf  # a gradient norm above it is cut down ...
        self.spike_level: float = math.inf  # ... to this
        self.rate_factor: Callable[[int], float] = lambda step: 1.0
        self.complete: Callable[[], None] = lambda: None  # called when a step is over
        self.unseen: Callable[[str], None] = lambda why: None  # called when steps cannot be seen
        self.before_step: Callable[[Update], None] = lambda update: None
        self.after_step: Callable[[Update], None] = lambda update: None
        self._parameters = [p for one in optimizers for group in one.param_groups for p in group["params"]]
        self._steppings = [
            Stepping(number, one, self, policy.protects) for number, one in enumerate(optimizers)
        ]
        self._scaler = _watched(scaler, self._steppings, self.skipped_by_scaler, policy)
        self._evaluating = evaluating  # called when the model is about to be evaluated
        is_looking = model is not None and (evaluating is not None or not self.lags)
        self._inputs = InputSense(model, self._evaluate, not self.lags) if model and is_looking else None
        self._ratio = UpdateRatio()
        self._clock = Clock()
        self._row = Row()
        self._losses: set[str] = set()
        self._ring: Ring | None = None
        self._known: list[Known] = []
        self._travelling: deque[Travelling] = deque()
        self._arrived: list[Observation] = []  # of a CPU, which needs no journey
        self._rates: list[Rate] = []
        self.is_sensing = True

    @property
    def lags(self) -> bool:
        """Whether steps are judged a window later, because the device is not waited for."""
        return self.device.type != "cpu"

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
        self._row.batches += 1
        if self._row.batches == MOST_BATCHES:
            self.unseen(f"{MOST_BATCHES} losses were given, and none of the optimizers has stepped since.")
        self._add(LOSS, loss)
        for name, amount in (parts or {}).items():
            self._add(f"{LOSS}/{name}", amount)

    def _add(self, name: str, amount: Amount) -> None:
        self._losses.add(name)
        self._row.add_loss(name, self._number(amount))

    def _number(self, amount: Amount) -> Tensor | float:
        return on_device(amount, self.device) if self.lags else on_host(amount)

    def waited(self, seconds: float) -> None:
        """Count a wait for data."""
        self._clock.waited(seconds)

    def batches(self, loader: Any) -> Iterator[Any]:
        """What a loader gives, with the time that it takes to give it."""
        waiting = iter(loader)
        while True:
            began = time.perf_counter()
            try:
                batch = next(waiting)
            except StopIteration:
                return
            self.waited(time.perf_counter() - began)
            self.batch += 1
            yield batch

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
        if update.number in self._row.stepped:
            self._close()
        if not self.is_sensing:
            return
        if update.number == 0:
            self._ratio.before(self.step, self._parameters)
        if self.policy.clip_spikes and self.policy.protects:
            self._cut(update)
        self.before_step(update)
        factor = self.rate_factor(self.step)
        if factor != 1.0:
            self._rates = slow_down(update.optimizer, factor)

    def after(self, update: Update) -> None:
        """The optimizer has stepped, or has been kept from it."""
        if self._rates:
            give_back(self._rates)
        self._note(update)
        self.after_step(update)
        if len(self._row.stepped) == len(self._steppings):
            self._close()

    def captured(self) -> None:
        """A step is recorded into a CUDA graph: its replays never come by here."""
        self.unseen("Steps are recorded into a CUDA graph.")

    def skipped_by_scaler(self, update: Update) -> None:
        """The scaler did not call the optimizer at all."""
        if update.number in self._row.stepped:
            self._close()
        self.after(update)

    def undo_backoffs(self, count: int) -> None:
        """Raise the loss scale again after so many steps whose loss itself was not finite."""
        if count and self._scaler is not None and self._scaler.is_enabled and self.policy.protects:
            self._scaler.undo_backoffs(count)

    # --- rows

    def arrived(self) -> list[Observation]:
        """The steps that can be judged by now."""
        found, self._arrived = self._arrived, []
        for one in self.due():
            found += one.observations()
        return found

    def due(self) -> list[Travelling]:
        """The windows whose numbers are on the host by now."""
        found: list[Travelling] = []
        while self._travelling and self._is_due(self._travelling[0]):
            found.append(self._travelling.popleft())
        return found

    def flush(self) -> list[Observation]:
        """All steps that are not judged yet; this waits for the device."""
        self._send()
        found, self._arrived = self._arrived, []
        for one in self._travelling:
            found += one.observations()
        self._travelling.clear()
        return found

    def _note(self, update: Update) -> None:
        row = self._row
        row.stepped.add(update.number)
        if not self.is_sensing:
            return
        name = "grad_norm" if update.number == 0 else f"grad_norm/{update.number}"
        row.put(name, self._number(update.norm))
        is_skipped = self.policy.protects or update.way is Way.SCALER
        if update.known_bad is not None or update.bad is None:
            row.skip(float(is_skipped and bool(update.known_bad)))
        else:
            row.skip(self._number(update.bad) if is_skipped else 0.0)
        if update.number == 0:
            self._note_change(row, update)

    def _note_change(self, row: Row, update: Update) -> None:
        """Put down how large the change of the weights was, and at which learning rate."""
        ratio = self._ratio.after()
        if ratio is not None:
            row.put(RATIO, self._number(ratio))
        elif self.lags:
            row.seen[RATIO] = None
        row.put("lr", self._number(update.optimizer.param_groups[0]["lr"]))

    def _close(self) -> None:
        """Write the row of a step, and send the window that it fills."""
        row, self._row = self._row, Row()
        try:
            if self.is_sensing:
                self._write(row)
        finally:
            self.step += 1
        if self._ring is not None and self._ring.is_full:
            self._send()
        self.complete()

    def _write(self, row: Row) -> None:
        if row.batches > 1:
            row.average(self._losses)
        given = self._inputs.take() if self._inputs is not None else None
        if given is not None:
            row.known["input"] = given
        scale = self._scaler.seen() if self._scaler is not None and self._scaler.is_enabled else None
        if scale is not None:
            row.put("loss_scale", self._number(scale))
        row.known.update(self._clock.lap())
        if row.seen:
            self._put(row)
        else:
            self._arrived.append(Observation(self.step, time.time(), row.known))

    def _put(self, row: Row) -> None:
        columns = tuple(row.seen)
        if self._ring is None or self._ring.columns != columns:
            self._send()
            self._ring = Ring(self.device, columns, self.policy.window)
        self._ring.put(tuple(row.seen.values()))
        self._known.append(Known(self.step, time.time(), row.known))

    def _send(self) -> None:
        if self._ring is not None and self._ring.filled:
            self._travelling.append(Travelling(self._ring.send(), self._known))
            self._known = []

    def _is_due(self, travelling: Travelling) -> bool:
        """Whether a whole window has passed since: by then the copy is done, and nothing waits."""
        return self.step >= travelling.known[-1].step + 1 + self.policy.window

    # --- acting on the device

    def _cut(self, update: Update) -> None:
        """Divide gradients whose norm stands above the bar, so that it is the usual one; others by one."""
        if math.isinf(self.spike_bar) or math.isinf(self.spike_level):
            return
        over = update.norm / self.spike_level
        is_spike = (update.norm > self.spike_bar) & (over < math.inf)
        divide(update, torch.where(is_spike, over, 1.0))


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
