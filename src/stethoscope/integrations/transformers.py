"""Guard in the Trainer of transformers: one argument.

    trainer = Trainer(model, args, train_dataset=data, callbacks=[GuardCallback()])

A Trainer tells its callbacks of steps, never of losses. Each loss goes through `Accelerator.backward` just
before it is used, also in a Trainer that computes it in a way of its own, so that is where it is heard.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import Tensor, nn
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from stethoscope.errors import GuardStopped
from stethoscope.guard.guard import Guard
from stethoscope.integrations.beginnings import made, restored


class GuardCallback(TrainerCallback, ExportableState):
    """A Guard that is made when the training begins, and closed when it ends.

    `options` are those of `Guard`. `directory` is the Trainer's `output_dir` where it is not given.
    """

    def __init__(self, *, directory: str | Path | None = None, **options: Any) -> None:
        self.guard: Guard | None = None
        self._directory = directory
        self._options = options
        self._stopped: GuardStopped | None = None
        self._loss: Tensor | None = None  # of the batches that make up the step, so far
        self._ear: _Ear | None = None
        self._waiting_since = time.perf_counter()

    # --- the training

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Make the Guard: model, optimizer, scaler and schedule are known, and restored."""
        self._close()
        self._stopped = self._loss = None
        optimizer = parts["optimizer"]
        self.guard = made(
            parts["model"],
            optimizer,
            scaler=getattr(optimizer, "scaler", None),
            schedule=parts["lr_scheduler"],
            directory=self._directory if self._directory is not None else args.output_dir,
            on_stop=self._stop,
            **{"total_steps": state.max_steps or None, **self._options},
        )
        if self.guard is not None:
            restored(self.guard, _learned(state))
            self._ear = _Ear(self._hear)
        self._waiting_since = time.perf_counter()

    def on_step_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Count the wait for data: the batches of a step are drawn just before it begins."""
        if self.guard is not None:
            self.guard.waited(time.perf_counter() - self._waiting_since)

    def on_step_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Stop where the Guard says so, and keep a bad checkpoint from being written."""
        self._decide(args, state, control, parts)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Stop where the Guard says so, and keep a bad checkpoint from being written."""
        self._decide(args, state, control, parts)

    def on_log(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Begin to wait for data behind what the Trainer does between two steps."""
        self._waiting_since = time.perf_counter()

    on_evaluate = on_save = on_epoch_begin = on_log

    def on_train_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Close the Guard."""
        self._close()

    # --- what a checkpoint holds

    def state(self) -> dict[str, Any]:
        """What the Guard has learned, as the Trainer writes it into `trainer_state.json`."""
        learned = {} if self.guard is None else self.guard.state_dict()
        options = {"directory": self._directory, **self._options}
        return {
            "args": {name: value for name, value in options.items() if _fits_json(value)},
            "attributes": {"learned": learned if _fits_json(learned) else {}},
        }

    def _decide(self, args: Any, state: Any, control: Any, parts: Mapping[str, Any]) -> None:
        self._waiting_since = time.perf_counter()
        if self._stopped is not None:
            control.should_training_stop = True
        if control.should_save:
            path = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            control.should_save = _all_agree(self._may_save(path, parts), args.device)

    def _may_save(self, path: Path, parts: Mapping[str, Any]) -> bool:
        if self.guard is None:
            return True
        is_good = self.guard.allows(_weights(parts["model"], parts["optimizer"]), path)
        return is_good or not self.guard.policy.protects

    def _hear(self, accelerator: Any, loss: Tensor) -> None:
        """Add up the losses of the batches that make up one step: each is divided by their number already."""
        if self.guard is None:
            return
        one = loss.detach() / accelerator.gradient_accumulation_steps
        self._loss = one if self._loss is None else self._loss + one
        if accelerator.sync_gradients:
            self.guard.loss(self._loss)
            self._loss = None

    def _stop(self, stopped: GuardStopped) -> None:
        self._stopped = stopped

    def _close(self) -> None:
        """Close the Guard, which stays to be looked at."""
        if self.guard is not None:
            self.guard.close()
        if self._ear is not None:
            self._ear.remove()
            self._ear = None


class _Ear:
    """Hears each loss that goes through `Accelerator.backward`, until `remove`."""

    def __init__(self, hear: Callable[[Any, Tensor], None]) -> None:
        self._hear: Callable[[Any, Tensor], None] | None = hear
        backward = Accelerator.backward

        @wraps(backward)
        def heard(accelerator: Any, loss: Tensor, *args: Any, **kwargs: Any) -> Any:
            if self._hear is not None:
                self._hear(accelerator, loss)
            return backward(accelerator, loss, *args, **kwargs)

        self._backward, self._heard = backward, heard
        Accelerator.backward = heard

    def remove(self) -> None:
        """Hear nothing more; where somebody else listens on top, the method stays."""
        self._hear = None
        if Accelerator.backward is self._heard:
            Accelerator.backward = self._backward


def _learned(state: Any) -> Mapping[str, Any]:
    """What a checkpoint holds of the Guard, where the training goes on from one."""
    if (
        not state.global_step
    ):  # the state of a training that begins holds what the last one left in the callback
        return {}
    entry = (state.stateful_callbacks or {}).get(GuardCallback.__name__, {})
    last = entry[-1] if isinstance(entry, list) else entry
    learned: Mapping[str, Any] = last.get("attributes", {}).get("learned", {})
    return learned


def _fits_json(value: Any) -> bool:
    """Whether a value can stand in `trainer_state.json`: the Trainer writes what it is given, or fails."""
    try:
        json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        return False
    return True


def _weights(model: nn.Module, optimizer: Any) -> dict[str, Any]:
    """What a checkpoint is made of, without gathering what is spread over ranks."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {"model": tensors, "optimizer": optimizer.state}


def _all_agree(here: bool, device: torch.device) -> bool:
    """Whether all ranks say yes: they save together, or not at all."""
    if not (dist.is_available() and dist.is_initialized()):
        return here
    votes = torch.tensor(float(here), device=device)
    dist.all_reduce(votes, op=dist.ReduceOp.MIN)
    return bool(votes)
