"""Who watches a training: nobody, Guard, or a peer, each used as its own documentation says.

A peer that stops a run by an exception or a flag ends the training there; its weights are judged as it left
them. A peer that is not installed cannot be made: ModuleNotFoundError.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from guard_trials.tasks import Batch, Parts


@dataclass(frozen=True, slots=True)
class Sighting:
    """That a watcher spoke: at which step, of what, and what it asked for."""

    step: int
    kind: str
    severity: str = "warning"
    answer: str = "none"
    which: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a watcher is given to hold on to."""

    model: nn.Module
    optimizer: Optimizer
    scaler: Any
    schedule: Any
    folder: Path


def _nothing(*given: Any) -> None:
    return None


def _saved(state: Any, path: Path) -> None:
    torch.save(state, path)


@dataclass(slots=True, eq=False)
class Watch:
    """The places in a loop where a watcher may act. `ends` are the exceptions by which it stops a run."""

    batches: Callable[[Iterator[Batch]], Iterator[Batch]] = iter
    loss: Callable[[Tensor, Parts], object] = _nothing
    before_step: Callable[[int, Tensor], object] = _nothing
    after_step: Callable[[int, Tensor], object] = _nothing
    save: Callable[[Any, Path], object] = _saved
    close: Callable[[], object] = _nothing
    state: Callable[[], dict[str, Any]] = dict
    resume: Callable[[dict[str, Any]], object] = _nothing
    ends: tuple[type[Exception], ...] = ()
    ended_as: str = "stopped"
    sightings: list[Sighting] = field(default_factory=list)


class Ended(Exception):
    """A watcher asked for the end of the training."""


def nobody(watched: Watched) -> Watch:
    """The loop as it is."""
    return Watch()


def guard_default(watched: Watched) -> Watch:
    """Guard without further arguments."""
    return _guard(watched)


def guard_all(watched: Watched) -> Watch:
    """Guard with spikes clipped and rewinding on."""
    return _guard(watched, clip_spikes=True, rewind=True)


def _guard(watched: Watched, **arguments: Any) -> Watch:
    from stethoscope.errors import GuardStopped
    from stethoscope.guard.guard import Guard

    logging.getLogger("stethoscope.guard").setLevel(logging.CRITICAL)
    guard = Guard(
        watched.model, watched.optimizer, scaler=watched.scaler, schedule=watched.schedule, **arguments
    )
    watch = Watch(
        batches=guard.batches,
        loss=guard.loss,
        save=guard.save,
        state=guard.state_dict,
        resume=guard.load_state_dict,
        ends=(GuardStopped,),
        ended_as="end",  # why it stopped is among its happenings
    )

    def close() -> None:
        guard.close()
        watch.sightings += [_sighting(one) for one in guard.happenings]
        if guard.failure is not None:
            watch.sightings.append(Sighting(guard.step, "guard-failed", text=guard.failure))

    watch.close = close
    return watch


def _sighting(happening: Any) -> Sighting:
    which = str(happening.facts.get("which", ""))
    return Sighting(
        happening.step, str(happening.kind), str(happening.severity), str(happening.answer), which,
        happening.text(),
    )  # fmt: skip


def detect_anomaly(watched: Watched) -> Watch:
    """torch.autograd.detect_anomaly: a backward pass that makes NaN is an error."""
    mode = torch.autograd.detect_anomaly(check_nan=True)
    mode.__enter__()
    return Watch(close=lambda: mode.__exit__(None, None, None), ends=(RuntimeError,))


def debug_overflow(watched: Watched) -> Watch:
    """transformers' DebugUnderflowOverflow: a forward pass that meets NaN or infinity is an error."""
    from transformers.debug_utils import DebugUnderflowOverflow

    quiet = contextlib.redirect_stdout(io.StringIO())  # it prints its frames
    quiet.__enter__()
    DebugUnderflowOverflow(watched.model)
    return Watch(close=lambda: quiet.__exit__(None, None, None), ends=(ValueError,))


def spike_detection(watched: Watched) -> Watch:
    """Lightning's SpikeDetection: behind each batch, a loss far above its running mean is an error."""
    from lightning.fabric import Fabric
    from lightning.fabric.utilities.spike import SpikeDetection, TrainingSpikeException

    fabric = Fabric(accelerator="cpu", devices=1)
    detection = SpikeDetection(exclude_batches_path=watched.folder / "skip_batches.json")

    def after(step: int, loss: Tensor) -> None:
        detection.on_train_batch_end(fabric, loss.detach(), None, step)

    return Watch(after_step=after, ends=(TrainingSpikeException,))


def terminate_on_nan(watched: Watched) -> Watch:
    """ignite's TerminateOnNan: behind each iteration, an output that is not finite ends the run."""
    from ignite.engine import Engine
    from ignite.handlers import TerminateOnNan

    engine = Engine(lambda engine, batch: None)
    handler = TerminateOnNan()
    handler.logger.setLevel(logging.CRITICAL)

    def after(step: int, loss: Tensor) -> None:
        engine.state.output = loss.item()
        handler(engine)
        if engine.should_terminate:
            raise Ended

    return Watch(after_step=after, ends=(Ended,))


def zclip(watched: Watched) -> Watch:
    """ZClip: clips gradients by how far their norm stands above its running mean, and tells of nothing."""
    from zclip import ZClip

    clip = ZClip()
    return Watch(before_step=lambda step, loss: clip.step(watched.model))


def trainscope(watched: Watched) -> Watch:
    """trainscope: records each step and says where the loss has a spike; it does not act."""
    from trainscope import TrainScope
    from trainscope.core.config import TrainScopeConfig

    logging.getLogger("trainscope").setLevel(logging.CRITICAL)
    config = TrainScopeConfig(run_dir=str(watched.folder), run_name="scope")
    scope = TrainScope(watched.model, watched.optimizer, config=config).attach()
    watch = Watch(close=scope.detach)

    def before(step: int, loss: Tensor) -> None:
        spike = scope.step(loss.item(), batch_index=step)
        if spike:
            watch.sightings.append(Sighting(step, "spike"))

    watch.before_step = before
    return watch


ARMS: dict[str, Callable[[Watched], Watch]] = {
    "none": nobody,
    "guard": guard_default,
    "guard, all on": guard_all,
    "detect_anomaly": detect_anomaly,
    "DebugUnderflowOverflow": debug_overflow,
    "SpikeDetection": spike_detection,
    "TerminateOnNan": terminate_on_nan,
    "ZClip": zclip,
    "trainscope": trainscope,
}
OURS = ("guard", "guard, all on")
