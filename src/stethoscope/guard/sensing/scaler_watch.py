"""Listens to a GradScaler: the scale, the steps that it skips, and the floor below which it may not fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from stethoscope.guard.sensing.clip_norm import total_norm
from stethoscope.guard.sensing.stepping import Stepping, Update, Way, gradients, is_capturing, plain_norm


class ScalerWatch:
    """A scaler whose `step` and `update` are listened to, until `remove`.

    An optimizer that cannot skip on the device is not called at all for a bad step; then `skipped` is told.
    """

    def __init__(
        self,
        scaler: Any,
        steppings: Sequence[Stepping],
        skipped: Callable[[Update], None],
        floor: float | None,
    ) -> None:
        self.scaler = scaler
        self._steppings = {id(stepping.optimizer): stepping for stepping in steppings}
        self._skipped = skipped
        self._floor = floor
        self._seen: Tensor | None = None
        self._step, self._update = scaler.step, scaler.update
        scaler.step, scaler.update = self.step, self.update

    @property
    def is_enabled(self) -> bool:
        """Whether losses are scaled at all."""
        return bool(self.scaler.is_enabled())

    @property
    def scale(self) -> Tensor | None:
        """The scale on the device; None before the first loss was scaled."""
        scale = getattr(self.scaler, "_scale", None)
        return scale if isinstance(scale, Tensor) else None

    def remove(self) -> None:
        """Leave the scaler as it was."""
        for name in ("step", "update"):
            self.scaler.__dict__.pop(name, None)

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """What `scaler.step` does, with the optimizer's hooks told that the scaler decides."""
        stepping = self._steppings.get(id(inner(optimizer)))
        if stepping is None or not self.is_enabled:
            return self._step(optimizer, *args, **kwargs)
        stepping.stepped, stepping.by_scaler = False, True
        try:
            result = self._step(optimizer, *args, **kwargs)
        finally:
            stepping.by_scaler = False
        if not stepping.stepped:
            self._tell_of_skip(stepping)
        return result

    def seen(self) -> Tensor | None:
        """The scale of the step that is under way, as a number that the scaler will not write to."""
        if self._seen is None and self.scale is not None:
            self._seen = self.scale.clone()
        return self._seen

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """What `scaler.update` does, and no scale below the floor: there it would erase small gradients.

        The scaler goes on with a copy, so that what it leaves behind here can be read later.
        """
        result = self._update(*args, **kwargs)
        left = self.scale
        if left is not None and not is_capturing(left):
            self._seen = left
            self.scaler._scale = left.clone() if self._floor is None else left.clamp(min=self._floor)
        return result

    def undo_backoffs(self, count: int) -> None:
        """Raise the scale by as many steps as it was lowered without cause."""
        backoff = float(self.scaler.get_backoff_factor())
        if self.scale is not None and backoff > 0.0:
            self.scale.mul_(backoff**-count)
            self._seen = None

    def _tell_of_skip(self, stepping: Stepping) -> None:
        grads = gradients(stepping.optimizer)
        if not grads:
            return
        norm = plain_norm(total_norm(grads))
        self._skipped(Update(stepping.number, stepping.optimizer, grads, Way.SCALER, norm, known_bad=True))


def inner(optimizer: Any) -> Any:
    """The optimizer itself, where a framework has wrapped it."""
    while hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    return optimizer
