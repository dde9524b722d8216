"""Checkpoints: what they hold, what survives a crash, and that a resumed run is the run itself."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

from stethoscope.blocks.curriculum import Curriculum
from stethoscope.blocks.ema import EMA
from stethoscope.blocks.full_checkpoint import FullCheckpoint, full_state, random_state, restore_random_state
from stethoscope.blocks.loss_balancing import LossBalancer
from stethoscope.blocks.resumable_sampler import ResumableSampler
from stethoscope.blocks.schedules import SchedulePlan, schedule
from stethoscope.errors import UnreadableFile, UnwritableFile
from tests.blocks.docstring_example import run_example

PARTS = ("model", "optimizer", "scaler", "schedule", "ema", "curriculum", "balancer", "sampler", "noise")


class Training:
    """A small training with everything that has a state: dropout, shuffling, scaler, schedule, averages."""

    def __init__(self, folder: Path, seed: int, **without: None) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        generator = torch.Generator().manual_seed(0)
        data = TensorDataset(torch.randn(22, 4, generator=generator), torch.randn(22, 1, generator=generator))
        self.model = nn.Sequential(
            nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.4), nn.Linear(16, 1)
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
        self.schedule = schedule(self.optimizer, SchedulePlan("warmup-cosine", steps=40, warmup=5))
        self.ema = EMA(self.model, decay=0.9, update_after=2, update_every=2)
        self.curriculum = Curriculum("slow-exponential", steps=30, start=0.1)
        self.balancer = LossBalancer(
            {"mse": 1.0, "l1": 0.1}, baseline_steps=3, adaptation_rate=0.1, momentum=0.5
        )
        self.sampler = ResumableSampler(data, seed=3)
        self.loader = DataLoader(data, batch_size=4, sampler=self.sampler)
        self.noise = np.random.default_rng(seed)
        self.step = 0
        parts: dict[str, Any] = {name: getattr(self, name) for name in PARTS if name not in without}
        self.checkpoint = FullCheckpoint(folder, keep=2, **parts)

    def run(self, until: int, save_at: int | None = None) -> list[float]:
        losses = []
        while True:
            for x, y in self.sampler.counted(self.loader):
                losses.append(self._update(x, y))
                if self.step == save_at:
                    self.checkpoint.save(self.step)
                if self.step == until:
                    return losses

    def _update(self, x: torch.Tensor, y: torch.Tensor) -> float:
        jitter = random.random() + np.random.rand() + float(self.noise.random())
        x = x + self.curriculum.difficulty * 0.1 * torch.randn_like(x) + 0.01 * jitter
        error = self.model(x) - y
        loss = self.balancer({"mse": error.square().mean(), "l1": error.abs().mean()})
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.schedule.step()
        self.ema.update()
        self.curriculum.step()
        self.step += 1
        return loss.item()

    def state(self) -> dict[str, Any]:
        return full_state(self.checkpoint.parts, step=self.step)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return bool(torch.equal(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("save_at", [1, 7, 12])
def test_a_resumed_training_is_bit_by_bit_the_one_that_was_not_stopped(tmp_path: Path, save_at: int) -> None:
    """An epoch has six batches: the run is stopped at its start, in its middle and after its last batch."""
    whole = Training(tmp_path, seed=1)
    losses = whole.run(until=25, save_at=save_at)

    again = Training(tmp_path, seed=99)
    done = again.checkpoint.resume()
    again.step = done.step
    assert again.run(until=25) == losses[save_at:]
    assert _same(again.state(), whole.state())
    assert done.missing == done.unused == done.notes == ()


@pytest.mark.parametrize("part", [one for one in PARTS if one not in ("scaler", "ema")])
def test_without_any_one_of_the_parts_that_steer_it_the_losses_are_others(tmp_path: Path, part: str) -> None:
    whole = Training(tmp_path, seed=1)
    losses = whole.run(until=15, save_at=7)
    lacking = Training(tmp_path, seed=99, **{part: None})
    done = lacking.checkpoint.resume()
    assert done.unused == (part,)
    lacking.step = done.step
    assert lacking.run(until=15) != losses[7:]


def test_resume_says_in_words_what_it_did(tmp_path: Path) -> None:
    model, optimizer = nn.Linear(1, 1), torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
    first = FullCheckpoint(tmp_path, model=model, optimizer=optimizer)
    assert str(first.resume()) == "There is no checkpoint; training begins at step 0."
    path = first.save(400, best_psnr=29.5, name="nano")
    second = FullCheckpoint(tmp_path, model=model, ema=EMA(model))
    done = second.resume()
    assert str(done) == (
        f"Goes on at step 400 from {path}. Restored: model, random numbers. "
        "Not in the file, and so at its beginning: ema. In the file, but not asked for: optimizer."
    )
    assert done.values == {"best_psnr": 29.5, "name": "nano"}


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    checkpoint = FullCheckpoint(tmp_path, keep=2, model=nn.Linear(1, 1))
    for step in (10, 20, 30):
        checkpoint.save(step)
    assert [path.name for path in checkpoint.files()] == ["step-00000020.pt", "step-00000030.pt"]
    assert len(list(tmp_path.iterdir())) == 2


def test_after_going_back_the_last_one_written_is_the_last(tmp_path: Path) -> None:
    checkpoint = FullCheckpoint(tmp_path, keep=2, model=nn.Linear(1, 1))
    for step, second in [(900, 1), (1000, 2)]:
        os.utime(checkpoint.save(step), (second, second))
    checkpoint.save(600)
    assert [path.name for path in checkpoint.files()] == ["step-00001000.pt", "step-00000600.pt"]
    assert checkpoint.resume().step == 600


def test_a_broken_file_is_passed_over_with_a_word(tmp_path: Path) -> None:
    checkpoint = FullCheckpoint(tmp_path, model=nn.Linear(1, 1))
    os.utime(checkpoint.save(1), (1, 1))
    half = checkpoint.save(2)
    half.write_bytes(half.read_bytes()[:300])
    done = checkpoint.resume()
    assert done.step == 1
    assert "Passed over" in str(done)
    assert str(half) in str(done)
    checkpoint.files()[0].write_bytes(b"")
    with pytest.raises(UnreadableFile, match="no checkpoint could be read"):
        checkpoint.resume()


def test_another_kind_of_file_is_no_checkpoint(tmp_path: Path) -> None:
    torch.save({"model": {}}, tmp_path / "step-1.pt")
    with pytest.raises(UnreadableFile, match="it is no full checkpoint"):
        FullCheckpoint(tmp_path, model=nn.Linear(1, 1)).resume()


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    checkpoint = FullCheckpoint(tmp_path, model=model)
    good = checkpoint.save(1)
    nn.init.constant_(model.weight, float("inf"))
    with pytest.raises(
        FloatingPointError, match=rf"not finite are model.weight; the last checkpoint is {good}"
    ):
        checkpoint.save(2)
    assert checkpoint.files() == [good]
    checkpoint.save(3, even_if_not_finite=True)
    assert checkpoint.resume().step == 3


def test_a_mask_of_infinities_is_no_reason_to_refuse_but_nan_in_it_is(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    model.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
    checkpoint = FullCheckpoint(tmp_path, model=model, ema=EMA(model))
    checkpoint.save(1)
    model.mask[0] = torch.nan
    with pytest.raises(FloatingPointError, match=r"model\.mask"):
        checkpoint.save(2)


def test_a_full_disk_leaves_the_checkpoints_that_were_there(tmp_path: Path) -> None:
    model = nn.Linear(200, 200)
    checkpoint = FullCheckpoint(tmp_path, model=model)
    good = checkpoint.save(1)
    before = good.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(UnwritableFile, match="File too large; the checkpoints that were there are"):
            checkpoint.save(2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == [good]
    assert good.read_bytes() == before
    assert checkpoint.resume().step == 1


KILLED = """
import sys, torch
from stethoscope.blocks import FullCheckpoint
model = torch.nn.Linear(1000, 1000)
checkpoint = FullCheckpoint(sys.argv[1], model=model)
for step in range(1, 100000):
    torch.nn.init.constant_(model.weight, float(step))
    checkpoint.save(step)
    print(step, flush=True)
"""


def test_a_kill_at_any_moment_leaves_a_checkpoint_that_is_whole(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(4)]
    time.sleep(random.Random().random() * 0.02)
    process.kill()
    process.wait()
    told += process.stdout.read().splitlines()
    process.stdout.close()
    model = nn.Linear(1000, 1000)
    done = FullCheckpoint(tmp_path, model=model).resume()
    assert done.notes == ()
    assert done.step >= int(told[-1])
    assert torch.equal(model.weight, torch.full((1000, 1000), float(done.step)))


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    old, young = tmp_path / ".step-00000001.pt.1.part", tmp_path / ".step-00000002.pt.2.part"
    old.touch()
    young.touch()
    os.utime(old, (1, 1))
    FullCheckpoint(tmp_path, model=nn.Linear(1, 1)).save(3)
    assert not old.exists()
    assert young.exists()


def test_a_file_holds_nothing_but_tensors_and_plain_values(tmp_path: Path) -> None:
    training = Training(tmp_path, seed=1)
    training.run(until=3, save_at=3)
    state = torch.load(training.checkpoint.files()[-1], weights_only=True)
    assert sorted(state) == ["format", "parts", "random", "step", "values"]

    class Odd:
        def state_dict(self) -> dict[str, Any]:
            return {"deep": [{"where": tmp_path}]}

        def load_state_dict(self, state: dict[str, Any]) -> None: ...

    with pytest.raises(TypeError, match=r"odd\.deep\.0\.where is of type PosixPath"):
        FullCheckpoint(tmp_path, odd=Odd()).save(1)
    with pytest.raises(TypeError, match="count is of type int, which has no state_dict"):
        FullCheckpoint(tmp_path, count=3)


def test_arrays_counters_and_generators_come_back_as_they_were(tmp_path: Path) -> None:
    class Holder:
        def __init__(self) -> None:
            self.state: dict[str, Any] = {}

        def state_dict(self) -> dict[str, Any]:
            return self.state

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.state = state

    holder, own, torchs, numpys = Holder(), random.Random(1), torch.Generator(), np.random.default_rng(1)
    holder.state = {"array": np.arange(3, dtype=np.uint8), "steps": Counter({20: 1}), "rate": np.float64(0.5)}
    parts = {"holder": holder, "own": own, "torchs": torchs, "numpys": numpys}
    checkpoint = FullCheckpoint(tmp_path, **parts)
    checkpoint.save(1)

    def drawn() -> list[float]:
        return [own.random(), float(torch.rand((), generator=torchs)), float(numpys.random())]

    expected = drawn()
    holder.state = {}
    checkpoint.resume()
    assert drawn() == expected
    assert holder.state["array"].dtype == np.uint8
    assert holder.state["array"].tolist() == [0, 1, 2]
    assert holder.state["steps"] == Counter({20: 1})
    assert isinstance(holder.state["steps"], Counter)
    assert type(holder.state["rate"]) is float


def test_global_random_numbers_go_on_where_they_were() -> None:
    state = random_state()

    def drawn() -> list[float]:
        return [random.gauss(0, 1), float(np.random.randn()), float(torch.rand(()))]

    expected = drawn()
    drawn()
    assert restore_random_state(state) == []
    assert drawn() == expected
    gpus = torch.cuda.device_count()
    more = state | {"cuda": [torch.get_rng_state()] * (gpus + 1)}
    assert restore_random_state(more) == [
        f"Random numbers of {gpus + 1} GPUs were saved, and there are {gpus} here."
    ]


def test_a_model_is_restored_with_and_without_its_wrappers(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), torch.compile(nn.Linear(2, 2), backend="eager"))
    FullCheckpoint(tmp_path, model=torch.compile(model, backend="eager")).save(1)
    plain = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    FullCheckpoint(tmp_path, model=nn.DataParallel(plain)).resume()
    for one, other in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "make",
    [
        lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [3, 6]),
        lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20),
        lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4),
        lambda optimizer: lr_scheduler.SequentialLR(
            optimizer,
            [lr_scheduler.LinearLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.9)],
            milestones=[4],
        ),
    ],
)
def test_the_schedulers_of_torch_go_on_where_they_were(tmp_path: Path, make: Any) -> None:
    def trained(optimizer: torch.optim.Optimizer, scheduler: Any, steps: int) -> list[float]:
        rates = []
        for _ in range(steps):
            optimizer.step()
            scheduler.step()
            rates += scheduler.get_last_lr()
        return rates

    def parts() -> tuple[torch.optim.Optimizer, Any]:
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        return optimizer, make(optimizer)

    optimizer, scheduler = parts()
    trained(optimizer, scheduler, 5)
    FullCheckpoint(tmp_path, optimizer=optimizer, scheduler=scheduler).save(5)
    other, resumed = parts()
    FullCheckpoint(tmp_path, optimizer=other, scheduler=resumed).resume()
    assert trained(other, resumed, 9) == trained(optimizer, scheduler, 9)


def test_a_part_that_does_not_fit_is_named(tmp_path: Path) -> None:
    FullCheckpoint(tmp_path, model=nn.Linear(2, 2)).save(1)
    with pytest.raises(ValueError, match=r"(?s)model could not be restored: .*size mismatch"):
        FullCheckpoint(tmp_path, model=nn.Linear(3, 2)).resume()
    with pytest.raises(ValueError, match="keep is 0"):
        FullCheckpoint(tmp_path, keep=0)


def test_the_example_runs(tmp_path: Path) -> None:
    printed = run_example("full_checkpoint", tmp_path).splitlines()
    assert printed[0] == "There is no checkpoint; training begins at step 0."
    assert printed[1].startswith("Goes on at step 20 from checkpoints")
