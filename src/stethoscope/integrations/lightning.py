"""Guard in Lightning: one argument of the Trainer.

    trainer = L.Trainer(callbacks=[GuardCallback()])

It works with `lightning` and with `pytorch_lightning`. The loss of each batch, the wait for data and the
checkpoints that the Trainer writes are seen without further lines. What a module alone knows, it may say:

    self.loss_parts = {"l1": l1.detach(), "adversarial": adversarial.detach()}    in `training_step`
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from stethoscope.errors import GuardStopped
from stethoscope.guard.guard import Guard
from stethoscope.integrations.beginnings import made, restored

try:
    from lightning.pytorch import Callback
except ImportError:  # the same code under its older name; a Trainer of either takes callbacks of both
    from pytorch_lightning import Callback

FETCHES = "train_dataloader_next"  # how the Trainer's profiler ends the name of a wait for the next batch
PARTS = "loss_parts"  # the attribute of a module that holds the parts of the loss
SAMPLES = ("id", "ids", "sample_id", "sample_ids", "index", "idx")  # of a batch that says what is in it
WEIGHTS = ("state_dict", "optimizer_states")  # of a checkpoint; others hold infinities that mean "none yet"


class GuardCallback(Callback):
    """A Guard that is made when the training starts, and closed when it ends.

    `options` are those of `Guard`. `directory` is the Trainer's `log_dir` where it is not given. `samples`
    says which samples a batch is made of: a name in the batch, or a function of the batch; without it, a
    batch that is a dict is asked for its `id`, `ids`, `sample_id`, `sample_ids`, `index` or `idx`.
    """

    def __init__(
        self,
        *,
        directory: str | Path | None = None,
        samples: str | Callable[[Any], Sequence[Any] | None] | None = None,
        **options: Any,
    ) -> None:
        self.guard: Guard | None = None
        self._directory = directory
        self._options = options
        self._samples_of = _samples_by(samples)
        self._samples: Sequence[Any] | None = None
        self._loaded: dict[str, Any] = {}
        self._waits: _Waits | None = None
        self._checkpoints: _GoodCheckpoints | None = None

    # --- the training

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Make the Guard: model, optimizers, scaler and schedules are known, and restored."""
        self._close(trainer)
        directory = self._directory if self._directory is not None else trainer.log_dir
        schedules = [config.scheduler for config in trainer.lr_scheduler_configs]
        self.guard = made(
            pl_module,
            list(trainer.optimizers),
            scaler=_scaler(trainer),
            schedule=schedules or None,
            directory=directory,
            on_stop=lambda stopped: _stop(trainer, stopped),
            **{"total_steps": _total_steps(trainer, pl_module), **self._options},
        )
        if self.guard is None:
            return
        restored(self.guard, self._loaded)
        self._loaded = {}
        self._waits = _Waits(trainer.profiler, self.guard)
        self._checkpoints = _GoodCheckpoints(trainer.strategy.checkpoint_io, self.guard)
        trainer.strategy.checkpoint_io = self._checkpoints

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Remember which samples the batch is made of."""
        self._samples = self._samples_of(batch)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Tensor) -> None:
        """Give the loss of a batch to the Guard."""
        if self.guard is not None:
            parts = getattr(pl_module, PARTS, None)
            self.guard.loss(
                _as_computed(loss.detach(), trainer, pl_module),
                parts if isinstance(parts, Mapping) else None,
                self._samples,
            )

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Close the Guard, behind the last checkpoint."""
        self._close(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Close the Guard."""
        self._close(trainer)

    # --- what a checkpoint holds

    def state_dict(self) -> dict[str, Any]:
        """What the Guard has learned."""
        return self._loaded if self.guard is None else self.guard.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep what was learned before, until the training starts."""
        self._loaded = state_dict

    def _close(self, trainer: Any) -> None:
        """Close the Guard, which stays to be looked at, and leave the Trainer as it was."""
        if self.guard is not None:
            self.guard.close()
        if self._waits is not None:
            self._waits.remove()
        if self._checkpoints is not None and trainer.strategy.checkpoint_io is self._checkpoints:
            trainer.strategy.checkpoint_io = self._checkpoints.inner
        self._waits = self._checkpoints = None


class _Waits:
    """Measures the waits for data: a Trainer tells its profiler, whichever it is, when they begin and end."""

    def __init__(self, profiler: Any, guard: Guard) -> None:
        self._profiler = profiler
        self._guard = guard
        self._began = 0.0
        self._start, self._stop = profiler.start, profiler.stop
        profiler.start, profiler.stop = self._started, self._stopped

    def remove(self) -> None:
        """Leave the profiler as it was."""
        for name in ("start", "stop"):
            self._profiler.__dict__.pop(name, None)

    def _started(self, action_name: str) -> None:
        self._start(action_name)
        if action_name.endswith(FETCHES):
            self._began = time.perf_counter()

    def _stopped(self, action_name: str) -> None:
        if action_name.endswith(FETCHES):
            self._guard.waited(time.perf_counter() - self._began)
        self._stop(action_name)


class _GoodCheckpoints:
    """Writes checkpoints as the Trainer's own plugin does, except those that are not finite.

    A Trainer removes the checkpoint before once the next is written. Where the next one was refused, the one
    before is the last good one, and stays.
    """

    def __init__(self, inner: Any, guard: Guard) -> None:
        self.inner = inner
        self._guard = guard
        self._has_refused = False

    def save_checkpoint(self, checkpoint: Mapping[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a checkpoint that is finite."""
        weights = {name: checkpoint[name] for name in WEIGHTS if name in checkpoint}
        self._has_refused = not self._guard.allows(weights, path) and self._guard.policy.protects
        if not self._has_refused:
            self.inner.save_checkpoint(checkpoint, path, storage_options=storage_options)

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a checkpoint that a later one has replaced."""
        if not self._has_refused:
            self.inner.remove_checkpoint(path)

    def load_checkpoint(self, *args: Any, **kwargs: Any) -> Any:
        """Read a checkpoint."""
        return self.inner.load_checkpoint(*args, **kwargs)

    def teardown(self) -> None:
        """Nothing more will be written."""
        self.inner.teardown()


def _stop(trainer: Any, stopped: GuardStopped) -> None:
    trainer.should_stop = True
    before_epoch = trainer.current_epoch < (trainer.min_epochs or 0)
    if before_epoch or trainer.global_step < (trainer.min_steps or 0):
        raise stopped  # the Trainer would go on until then, unprotected


def _total_steps(trainer: Any, module: Any) -> int | None:
    """How many steps the Trainer will take; not known where it runs on or the module steps by hand."""
    total = trainer.estimated_stepping_batches if module.automatic_optimization else math.inf
    return int(total) if math.isfinite(total) else None


def _scaler(trainer: Any) -> Any:
    return getattr(trainer.precision_plugin, "scaler", None)


def _as_computed(loss: Tensor, trainer: Any, module: Any) -> Tensor:
    """The loss as `training_step` gave it: by here it is divided for accumulation, and scaled."""
    if module.automatic_optimization and trainer.accumulate_grad_batches > 1:
        loss = loss * trainer.accumulate_grad_batches
    scale = getattr(_scaler(trainer), "_scale", None)
    return loss if scale is None else loss / scale


def _samples_by(samples: str | Callable[[Any], Sequence[Any] | None] | None) -> Callable[[Any], Any]:
    if callable(samples):
        return samples
    names = SAMPLES if samples is None else (samples,)

    def named(batch: Any) -> Any:
        if not isinstance(batch, Mapping):
            return None
        return next((batch[name] for name in names if name in batch), None)

    return named
