"""What Guard costs per step, beside what people use today, as ratios to the bare step in one interleaved run.

    python benchmarks/guard_overhead.py [--tasks gpt-bf16,gpt-fp16,sr-bf16,sr-fp16] [--blocks 100]

Every arm trains the same network with the same optimizer. A block is sixteen steps of each arm, a few at a
time in a shuffled order, so that a drift of the machine cancels; each arm's time is divided by that of the
bare steps of its block. How many at a time: where the host sets the pace (super-resolution, CPU) two, because
its speed drifts from one step to the next; where the GPU does (GPT) all sixteen, because it is waited for
behind them, and a loop that never waits lets the host run ahead. Sixteen steps are a window of Guard, so that
every block holds all that it does; Guard stays alive over all blocks, and for the other arms its hooks are
taken off. Reported are the median of these ratios and its upper 95 % confidence bound (bootstrap over
blocks). "bare again" is the bare step against itself: what it differs by is the noise. Without a GPU the task
is `cpu-transformer`.

On a GPU the steps of Guard also run under torch's sync debug mode, where a step that waits is an error.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils import clip_grad

from stethoscope.guard.guard import Guard

CLIPPING = ("_get_total_norm", "_clip_grads_with_norm_")  # of clip_grad; Guard stands in their place
SCALER_CALLS = ("step", "update")
BLOCK = 16  # steps of each arm, and one window of Guard
SLICES = {"gpt": 16, "sr": 2, "cpu": 2}  # steps at a time
GOALS = {"gpt": 0.3, "sr": 1.0, "cpu": 3.0}  # per cent, upper bound


# --- networks


class Block(nn.Module):
    """One layer of a GPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.second(x))))


class GPT(nn.Module):
    """A decoder of the size of GPT-2 small by default, with tied embeddings."""

    def __init__(
        self, words: int = 50304, length: int = 1024, width: int = 768, heads: int = 12, depth: int = 12
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.words.weight)


class SuperResolution(nn.Module):
    """Residual blocks on a small crop: many small kernels, so that the host sets the pace."""

    def __init__(self, width: int = 64, depth: int = 24, scale: int = 2) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1), nn.GELU(), nn.Conv2d(width, width, 3, padding=1)
            )
            for _ in range(depth)
        )
        self.tail = nn.Sequential(nn.Conv2d(width, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x: Tensor) -> Tensor:
        y = self.head(x)
        for block in self.body:
            y = y + block(y)
        return self.tail(y)


# --- tasks


@dataclass(slots=True)
class Task:
    """A training whose steps are timed. `losses` gives the total loss and its parts."""

    name: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: list[tuple[Tensor, Tensor]]
    losses: Callable[[Tensor, Tensor], dict[str, Tensor]]
    half: torch.dtype | None
    scaler: torch.amp.GradScaler | None
    device: str = "cuda"
    turn: int = 0

    def batch(self) -> tuple[Tensor, Tensor]:
        self.turn += 1
        return self.batches[self.turn % len(self.batches)]

    def autocast(self) -> Any:
        return torch.autocast(self.device, dtype=self.half) if self.half is not None else nullcontext()


def task(name: str) -> Task:
    """Make a task by its name."""
    torch.manual_seed(0)
    kind, _, precision = name.partition("-")
    if kind == "cpu":
        small = GPT(256, 128, 192, 6, 4)
        tokens = [torch.randint(0, 256, (8, 129)) for _ in range(8)]
        pairs = [(t[:, :-1].contiguous(), t[:, 1:].contiguous()) for t in tokens]
        return _task(name, small, pairs, _cross_entropy, None, False, "cpu")
    half = torch.float16 if precision == "fp16" else torch.bfloat16
    if kind == "gpt":
        tokens = [torch.randint(0, 50257, (8, 1025), device="cuda") for _ in range(8)]
        pairs = [(t[:, :-1].contiguous(), t[:, 1:].contiguous()) for t in tokens]
        return _task(name, GPT().cuda(), pairs, _cross_entropy, half, precision == "fp16", "cuda")
    low = [torch.rand(4, 3, 48, 48, device="cuda") for _ in range(8)]
    pairs = [(x, F.interpolate(x, scale_factor=2.0, mode="bicubic")) for x in low]
    return _task(
        name, SuperResolution().cuda(), pairs, _pixels_and_spectrum, half, precision == "fp16", "cuda"
    )


def _task(
    name: str,
    model: nn.Module,
    pairs: list[tuple[Tensor, Tensor]],
    losses: Callable[[Tensor, Tensor], dict[str, Tensor]],
    half: torch.dtype | None,
    scaled: bool,
    device: str,
) -> Task:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    scaler = torch.amp.GradScaler(device) if scaled else None
    return Task(name, model, optimizer, pairs, losses, half, scaler, device)


def _cross_entropy(logits: Tensor, targets: Tensor) -> dict[str, Tensor]:
    return {"ce": F.cross_entropy(logits.flatten(0, 1), targets.flatten())}


def _pixels_and_spectrum(made: Tensor, wanted: Tensor) -> dict[str, Tensor]:
    made = made.float()
    spectra = torch.fft.rfft2(made, norm="ortho") - torch.fft.rfft2(wanted, norm="ortho")
    return {"l1": F.l1_loss(made, wanted), "fft": 0.05 * spectra.abs().mean()}


# --- arms

Step = Callable[[], None]


def plain(
    task: Task, told: Callable[[Tensor, dict[str, Tensor]], None] | None = None, looks: Any = None
) -> Step:
    """The step of a plain loop: forward, backward, clip, update."""

    def step() -> None:
        x, y = task.batch()
        with task.autocast():
            made = task.model(x)
        parts = task.losses(made, y)
        loss = (
            sum(parts.values(), torch.zeros((), device=y.device))
            if len(parts) > 1
            else next(iter(parts.values()))
        )
        if told is not None:
            told(loss, parts)
        task.optimizer.zero_grad()
        if task.scaler is not None:
            task.scaler.scale(loss).backward()
            task.scaler.unscale_(task.optimizer)
        else:
            loss.backward()
        norm = nn.utils.clip_grad_norm_(task.model.parameters(), 1.0)
        if looks is not None:
            looks(x, loss, norm)
        if task.scaler is not None:
            task.scaler.step(task.optimizer)
            task.scaler.update()
        else:
            task.optimizer.step()

    return step


@contextmanager
def bare(task: Task) -> Iterator[Step]:
    """Nothing but the step."""
    yield plain(task)


@contextmanager
def guarded(task: Task, **arguments: Any) -> Iterator[Step]:
    """With Guard, all on that is on by default, and a flight record; its hooks are on within the step."""
    with tempfile.TemporaryDirectory() as folder:
        before = _hooks(task)
        guard = Guard(task.model, task.optimizer, scaler=task.scaler, directory=folder, **arguments)
        own = _hooks(task)
        _set_hooks(task, before)
        step = plain(task, guard.loss)
        feed = guard.batches(iter(int, 1))  # the wait for data is measured as in a loop

        def with_batch() -> None:
            next(feed)
            step()

        try:
            yield Switched(with_batch, lambda: _set_hooks(task, own), lambda: _set_hooks(task, before))
        finally:
            _set_hooks(task, own)
            guard.close()
            if guard.failure is not None:
                raise RuntimeError(guard.failure)


@dataclass(frozen=True, slots=True)
class Switched:
    """A step that needs something switched on before, and off behind a stretch of it."""

    step: Step
    on: Step
    off: Step

    def __call__(self) -> None:
        self.step()


def _hooks(task: Task) -> list[tuple[Any, dict[str, Any]]]:
    """Everything that Guard may put itself into, each with what it holds."""
    optimizer: Any = task.optimizer
    whole = [optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks]
    for module in task.model.modules():
        whole += [module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs]
    held = [(one, dict(one)) for one in whole]
    held.append((vars(clip_grad), {name: vars(clip_grad)[name] for name in CLIPPING}))
    if task.scaler is not None:
        held.append((vars(task.scaler), {k: v for k, v in vars(task.scaler).items() if k in SCALER_CALLS}))
    return held


def _set_hooks(task: Task, wanted: list[tuple[Any, dict[str, Any]]]) -> None:
    for holder, content in wanted:
        if task.scaler is not None and holder is vars(task.scaler):
            for name in SCALER_CALLS:
                holder.pop(name, None)
        elif holder is not vars(clip_grad):
            holder.clear()
        holder.update(content)


@contextmanager
def clipping_spikes(task: Task) -> Iterator[Step]:
    """With Guard, and gradients cut at the running level."""
    with guarded(task, clip_spikes=True) as step:
        yield step


@contextmanager
def loss_item(task: Task) -> Iterator[Step]:
    """The usual check: stop where the loss is not finite."""

    def look(x: Tensor, loss: Tensor, norm: Tensor) -> None:
        if not torch.isfinite(loss).item():
            raise RuntimeError("loss")

    yield plain(task, looks=look)


@contextmanager
def all_items(task: Task) -> Iterator[Step]:
    """Inputs, loss and gradients, each looked at by the host."""

    def look(x: Tensor, loss: Tensor, norm: Tensor) -> None:
        checked = [loss, norm] + ([x] if x.is_floating_point() else [])
        for one in checked:
            if not torch.isfinite(one).all().item():
                raise RuntimeError("not finite")

    yield plain(task, looks=look)


@contextmanager
def detect_anomaly(task: Task) -> Iterator[Step]:
    """torch.autograd.detect_anomaly around every step."""
    step = plain(task)

    def watched() -> None:
        with torch.autograd.detect_anomaly(check_nan=True):
            step()

    yield watched


@contextmanager
def underflow_overflow(task: Task) -> Iterator[Step]:
    """transformers' DebugUnderflowOverflow."""
    from transformers.debug_utils import DebugUnderflowOverflow

    before = {id(module): dict(module._forward_hooks) for module in task.model.modules()}
    DebugUnderflowOverflow(task.model)
    try:
        yield plain(task)
    finally:
        for module in task.model.modules():
            module._forward_hooks.clear()
            module._forward_hooks.update(before[id(module)])


@contextmanager
def spike_detection(task: Task) -> Iterator[Step]:
    """Lightning's SpikeDetection, fed with the loss of each step."""
    from lightning.fabric import Fabric
    from lightning.fabric.utilities.spike import SpikeDetection

    fabric = Fabric(accelerator="cuda" if task.device == "cuda" else "cpu", devices=1)
    detection = SpikeDetection(warmup=10_000, mode="min")
    turn = iter(range(1 << 60))
    step = plain(
        task, lambda loss, parts: detection.on_train_batch_end(fabric, loss.detach(), {}, next(turn))
    )
    yield step


ARMS: dict[str, Callable[[Task], Any]] = {
    "bare": bare,
    "bare again": bare,
    "Guard": guarded,
    "Guard, spikes clipped": clipping_spikes,
    "isfinite(loss).item()": loss_item,
    "inputs, loss, gradients with .item()": all_items,
    "Lightning SpikeDetection": spike_detection,
    "detect_anomaly": detect_anomaly,
    "DebugUnderflowOverflow": underflow_overflow,
}
BARE = ("bare", "bare again")
SLOW = {"detect_anomaly", "DebugUnderflowOverflow"}


# --- measuring


@dataclass(slots=True)
class Times:
    """Seconds per step of each arm, block by block."""

    by_arm: dict[str, list[float]] = field(default_factory=dict)

    def ratios(self, arm: str) -> np.ndarray:
        """By how many per cent an arm was slower than the bare step, or than the mean of both bare arms."""
        n = len(self.by_arm[arm])
        bare = [self.by_arm[one][:n] for one in BARE if one in self.by_arm and one != arm]
        return 100.0 * (np.array(self.by_arm[arm]) / np.mean(bare, axis=0) - 1.0)


def timed(work: Task, step: Any, steps: int) -> float:
    """Seconds per step of one arm."""
    switched = isinstance(step, Switched)
    if switched:
        step.on()
    _wait(work)
    began = time.perf_counter()
    for _ in range(steps):
        step()
    _wait(work)
    took = (time.perf_counter() - began) / steps
    if switched:
        step.off()
    return took


def measure(work: Task, arms: list[str], blocks: int, slow_blocks: int) -> Times:
    """Interleave the arms, a few steps of each at a time, in a shuffled order."""
    times = Times({arm: [] for arm in arms})
    order = random.Random(0)
    at_a_time = SLICES[work.name.partition("-")[0]]
    with ExitStack() as stack:
        steps = {arm: stack.enter_context(ARMS[arm](work)) for arm in arms if arm not in SLOW}
        for arm in steps:  # every arm has run before the clock starts
            timed(work, steps[arm], 3 * BLOCK)
        for block in range(blocks):
            took = Counter[str]()
            for _ in range(BLOCK // at_a_time):
                due = list(steps)
                order.shuffle(due)
                for arm in due:
                    took[arm] += timed(work, steps[arm], at_a_time) * at_a_time / BLOCK
            for arm in steps:
                times.by_arm[arm].append(took[arm])
            if sys.stderr.isatty():
                print(f"\r{work.name}: block {block + 1} of {blocks}", end="", file=sys.stderr, flush=True)
    for arm in (arm for arm in arms if arm in SLOW):
        with ARMS[arm](work) as step:
            timed(work, step, 1)
            times.by_arm[arm] = [timed(work, step, 3) for _ in range(slow_blocks)]
    print(file=sys.stderr)
    return times


def upper_bound(ratios: np.ndarray) -> float:
    """What the median lies below with 95 % confidence."""
    drawn = np.random.default_rng(0).choice(ratios, (4000, len(ratios)))
    return float(np.quantile(np.median(drawn, axis=1), 0.95))


def waits(work: Task) -> str:
    """Whether any of fifty guarded steps waits for the device."""
    with guarded(work) as step:
        step.on()
        for _ in range(40):
            step()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(50):
                step()
        except RuntimeError as problem:
            return f"waits: {str(problem).splitlines()[0]}"
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return "no wait in 50 steps (torch.cuda.set_sync_debug_mode)"


def _wait(work: Task) -> None:
    if work.device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print a table for each task."""
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--tasks", default="gpt-bf16,gpt-fp16,sr-bf16,sr-fp16" if has_gpu else "cpu-transformer"
    )
    parser.add_argument("--arm", action="append", choices=ARMS, help="only these; repeatable")
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--slow-blocks", type=int, default=3)
    parser.add_argument("--json", help="a file for the times of all blocks")
    asked = parser.parse_args()
    arms = [arm for arm in ARMS if arm in (*BARE, *(asked.arm or ARMS))]
    where = torch.cuda.get_device_name() if has_gpu else f"CPU, {torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {where}, {time.strftime('%Y-%m-%d')}\n")
    everything = {}
    for name in asked.tasks.split(","):
        work = task(name)
        times = measure(work, arms, asked.blocks, asked.slow_blocks)
        everything[name] = times.by_arm
        _print(work, times, arms)
        if has_gpu:
            print(f"\n{waits(work)}\n")
        del work
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(everything, file)


def _print(work: Task, times: Times, arms: list[str]) -> None:
    step = 1000.0 * statistics.median(times.by_arm["bare"])
    goal = GOALS[work.name.partition("-")[0]]
    print(f"{work.name}: bare step {step:.2f} ms; goal for Guard: at most +{goal:g} % (upper bound)")
    print("| arm | median | 95 % upper bound | blocks |\n|---|---|---|---|")
    for arm in arms:
        if arm != "bare":
            ratios = times.ratios(arm)
            bound = upper_bound(ratios)
            print(f"| {arm} | {np.median(ratios):+.2f} % | {bound:+.2f} % | {len(ratios)} |")


if __name__ == "__main__":
    main()
