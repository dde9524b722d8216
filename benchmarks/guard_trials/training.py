"""One training, from its first step to its score: a plain loop with places for a fault and for a watcher."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from guard_trials.arms import ARMS, Sighting, Watch, Watched
from guard_trials.faults import FAULTS, HEALTHY, SWELL, Fault
from guard_trials.tasks import TASKS, Batch, Task, batches, drawn, scored

STEPS = 300
ONSET, ONSET_SHIFT = 150, 7  # the onset moves with the seed, so that it meets no multiple of anything
SAVE_STEPS = 50
KINDS: tuple[dict[str, bool], ...] = ({"foreach": False}, {"foreach": True}, {"fused": True})
PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}
SWELLING = {"gratings": "3", "chains": "layers.0.linear1", "textures": "body.2"}  # a layer inside each model


@dataclass(frozen=True, slots=True)
class Setting:
    """How a training is set up, beside its task; empty or zero is the task's own."""

    optimizer: str = ""
    kind: int = 0
    precision: str = "fp32"
    schedule: str = "cosine"
    warmup: int = 20
    clip: float = 0.0
    batch_size: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the matrix: a task, a fault, who watches, a seed and a setting."""

    task: str
    fault: str
    arm: str
    seed: int
    setting: Setting = field(default_factory=Setting)

    @property
    def key(self) -> str:
        """The name of this case in the file of results."""
        return "|".join(
            map(str, (self.task, self.fault, self.arm, self.seed, *asdict(self.setting).values()))
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one training. `ended` is the step at which it was stopped, `digest` of its weights."""

    key: str
    score: float
    finite: bool
    onset: int
    ended: int | None
    digest: str
    seconds: float
    sightings: tuple[Sighting, ...]


@dataclass(slots=True, eq=False)
class Parts:
    """All that one process of a training holds."""

    model: nn.Module
    optimizer: Optimizer
    schedule: Any
    scaler: Any
    watch: Watch

    def state(self, step: int) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "step": step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "watch": self.watch.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        for name in ("model", "optimizer", "schedule", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.watch.resume(state["watch"])


def train(case: Case) -> Outcome:
    """Run one training to its end, or to where its watcher ends it."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    task = TASKS[case.task]
    fault = FAULTS.get(case.fault, HEALTHY)
    onset = 0 if fault.from_start else ONSET + ONSET_SHIFT * case.seed
    learning, held_out = drawn(task, case.seed)
    with tempfile.TemporaryDirectory() as folder:
        parts, sightings, ended = _lives(case, task, fault, onset, learning, Path(folder))
    state = parts.model.state_dict()
    return Outcome(
        case.key,
        _score(task, state, held_out),
        all(bool(tensor.isfinite().all()) for tensor in state.values()),
        onset,
        ended,
        hashlib.sha256(b"".join(t.numpy().tobytes() for t in state.values())).hexdigest()[:16],
        time.perf_counter() - began,
        tuple(sightings),
    )


def _score(task: Task, state: dict[str, Tensor], held_out: Batch) -> float:
    """The score of some weights, in a model that no watcher has hooks on."""
    model = task.model()
    model.load_state_dict(state)
    return scored(task, model, held_out)


def _lives(
    case: Case, task: Task, fault: Fault, onset: int, learning: Batch, folder: Path
) -> tuple[Parts, list[Sighting], int | None]:
    """The processes of one training: behind a poisoned checkpoint a second goes on from the file."""
    checkpoint = folder / "last.pt"
    until = onset + 1 if fault.poisons_checkpoint else STEPS
    parts = _built(case, task, fault, folder)
    ended = _life(case, task, fault, onset, learning, parts, range(until), checkpoint)
    sightings = parts.watch.sightings
    if fault.poisons_checkpoint and ended is None:
        parts = _built(case, task, fault, folder)
        state = torch.load(checkpoint, weights_only=True)
        parts.load(state)
        ended = _life(
            case, task, HEALTHY, onset, learning, parts, range(state["step"] + 1, STEPS), checkpoint
        )
        sightings = [*sightings, *parts.watch.sightings]
    return parts, sightings, ended


def _life(
    case: Case,
    task: Task,
    fault: Fault,
    onset: int,
    learning: Batch,
    parts: Parts,
    steps: range,
    checkpoint: Path,
) -> int | None:
    """Train in one process; the step at which the watcher ended it, if it did."""
    size = case.setting.batch_size or task.batch_size
    data = itertools.islice(batches(learning, size, case.seed, STEPS), steps.start, steps.stop)
    at = steps.start
    try:
        for at, batch in zip(steps, parts.watch.batches(data), strict=False):
            _step(case, task, fault, at - onset, at, batch, parts)
            if fault.poisons_checkpoint and at == onset:
                with torch.no_grad():
                    next(parts.model.parameters()).view(-1)[0] = torch.nan
            if at % SAVE_STEPS == SAVE_STEPS - 1 or (fault.poisons_checkpoint and at == onset):
                parts.watch.save(parts.state(at), checkpoint)
    except parts.watch.ends as end:
        parts.watch.sightings.append(Sighting(at, parts.watch.ended_as, "critical", "stop", text=str(end)))
        return at
    finally:
        parts.watch.close()
    return None


def _step(case: Case, task: Task, fault: Fault, since: int, at: int, batch: Batch, parts: Parts) -> None:
    """One step of the loop, as a person writes it, with the fault in it once it has begun."""
    model, optimizer, scaler = parts.model, parts.optimizer, parts.scaler
    is_sick = since >= 0
    if is_sick:
        batch = fault.batch(batch, since)
    model.train()
    precision = PRECISIONS.get(case.setting.precision)
    with _swelling(case, model, is_sick and fault.swells(since)):
        with torch.autocast("cpu", dtype=precision or torch.bfloat16, enabled=precision is not None):
            losses = task.parts(model, batch)
        if is_sick:
            losses = fault.parts(losses, since)
        loss = torch.stack(list(losses.values())).sum()
        parts.watch.loss(loss, losses)
        if not (is_sick and fault.keeps_gradients):
            optimizer.zero_grad()
        scaler.scale(loss).backward()
    if is_sick:
        fault.gradients(model, since)
    if scaler.is_enabled():
        scaler.unscale_(optimizer)
    parts.watch.before_step(at, loss)
    if case.setting.clip:
        nn.utils.clip_grad_norm_(model.parameters(), case.setting.clip)
    _stepped(parts, fault.rate(since) if is_sick else 1.0)
    parts.watch.after_step(at, loss)


def _stepped(parts: Parts, factor: float) -> None:
    rates = [group["lr"] for group in parts.optimizer.param_groups]
    for group, rate in zip(parts.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * factor
    parts.scaler.step(parts.optimizer)
    parts.scaler.update()
    for group, rate in zip(parts.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    parts.schedule.step()


@contextlib.contextmanager
def _swelling(case: Case, model: nn.Module, is_on: bool) -> Iterator[None]:
    """A layer whose output is for a moment too large for half precision; in float32 nothing changes."""
    if not is_on:
        yield
        return
    layer = model.get_submodule(SWELLING[case.task])
    handle = layer.register_forward_hook(lambda module, given, output: output * SWELL / SWELL)
    yield
    handle.remove()


def _built(case: Case, task: Task, fault: Fault, folder: Path) -> Parts:
    torch.manual_seed(case.seed)
    model = task.model()
    learner = copy.deepcopy(model) if fault.optimizes_a_copy else model
    optimizer = _optimizer(task, case.setting, learner)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_at(case.setting, step))
    scaler = torch.amp.GradScaler("cpu", enabled=case.setting.precision == "fp16")
    watched = Watched(model, optimizer, scaler, schedule, folder)
    return Parts(model, optimizer, schedule, scaler, ARMS[case.arm](watched))


def _optimizer(task: Task, setting: Setting, model: nn.Module) -> Optimizer:
    name = setting.optimizer or task.optimizer
    parameters, rate = model.parameters(), task.rates[name]
    kind: Any = KINDS[setting.kind]
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=0.9, **kind)
    if name == "adam":
        return torch.optim.Adam(parameters, lr=rate, **kind)
    return torch.optim.AdamW(parameters, lr=rate, **kind)


def _rate_at(setting: Setting, step: int) -> float:
    """The share of the learning rate at a step."""
    rise = min(1.0, (step + 1) / setting.warmup) if setting.warmup else 1.0
    gone = step / STEPS
    if setting.schedule == "cosine":
        return rise * (0.55 + 0.45 * math.cos(math.pi * gone))
    if setting.schedule == "steps":
        return rise * (0.3 ** int(3 * gone))
    if setting.schedule == "restarts":
        return rise * (0.55 + 0.45 * math.cos(math.pi * (2 * gone % 1.0)))
    return rise
