"""Faults that tools of this kind have had, each tried on a whole Guard."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from stethoscope.guard import Guard, Kind
from stethoscope.read import read
from tests.guard.loops import OPTIMIZERS

BAD = 60
SPIKE = 150  # by then the usual gradient is known


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Compute with one thread: for networks this small, several wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Loop:
    """A training that can be left and taken up again; `guard` may be None."""

    def __init__(self, optimizer: str = "adamw fused") -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.optimizer = OPTIMIZERS[optimizer](self.net.parameters())
        self.guard: Guard | None = None
        self.draw = torch.Generator().manual_seed(1)
        self.step = 0

    def train(
        self,
        until: int,
        spoil: Mapping[int, float] | None = None,
        left_out: int | None = None,
        behind: Callable[[int], None] = lambda step: None,
    ) -> list[Tensor]:
        """Train on, and give the weights; `spoil` is what the inputs of a step are multiplied by."""
        while self.step < until:
            x = torch.randn(16, 8, generator=self.draw)
            y = x.sum(1, keepdim=True) + 0.1 * torch.randn(16, 1, generator=self.draw)
            x = x * (spoil or {}).get(self.step, 1.0)
            loss = (self.net(x) - y).square().mean()
            if self.guard is not None:
                self.guard.loss(loss, parts={"mse": loss})
            self.optimizer.zero_grad()
            loss.backward()
            if self.step != left_out:
                self.optimizer.step()
            behind(self.step)
            self.step += 1
        return [one.detach().clone() for one in self.net.parameters()]


def told(guard: Guard, since: int = 0) -> list[tuple[Kind, int]]:
    every = [(one.kind, one.step) for one in guard.happenings if one.kind is not Kind.RESUMED]
    return [(kind, step) for kind, step in every if step >= since]


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e30])
def test_one_bad_batch_does_not_blind_the_statistics(bad: float) -> None:
    sick, healthy = Loop(), Loop()
    for loop in (sick, healthy):
        loop.guard = Guard(loop.net, loop.optimizer, clip_spikes=True)
    sick.train(SPIKE + 30, {BAD: bad, SPIKE: 1000.0})
    healthy.train(SPIKE + 30, {SPIKE: 1000.0})
    assert sick.guard is not None
    assert healthy.guard is not None
    assert (Kind.GRADIENT_SPIKE, SPIKE) in told(sick.guard)
    assert told(sick.guard, SPIKE) == told(healthy.guard, SPIKE)
    json.dumps(sick.guard.state_dict(), allow_nan=False)


@pytest.mark.parametrize("optimizer", ["adamw fused", "adamw foreach", "sgd"])
def test_one_bad_batch_costs_one_step_and_no_window(optimizer: str, tmp_path: Path) -> None:
    guarded = Loop(optimizer)
    with Guard(guarded.net, guarded.optimizer, directory=tmp_path) as guarded.guard:
        weights = guarded.train(300, {BAD: math.nan})
    bare = Loop(optimizer).train(300, left_out=BAD)
    assert all(torch.equal(a, b) for a, b in zip(weights, bare, strict=True))
    skipped = read(tmp_path).series["skipped"].values
    assert skipped.nonzero()[0].tolist() == [BAD]


def _through_torch(state: Any) -> Any:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("carried", [_through_torch, lambda state: json.loads(json.dumps(state))])
def test_a_run_that_was_taken_up_again_is_judged_as_one_that_was_not(carried: Callable[[Any], Any]) -> None:
    spoiled = {BAD: math.nan, SPIKE: 1000.0, SPIKE + 20: math.nan}
    whole, parted = Loop("sgd"), Loop("sgd")
    for loop in (whole, parted):
        loop.guard = Guard(loop.net, loop.optimizer, clip_spikes=True)
    expected = whole.train(SPIKE + 40, spoiled)
    parted.train(SPIKE, spoiled)
    assert parted.guard is not None
    state = carried(parted.guard.state_dict())
    parted.guard.close()
    parted.guard = Guard(parted.net, parted.optimizer, clip_spikes=True)
    parted.guard.load_state_dict(state)
    weights = parted.train(SPIKE + 40, spoiled)
    assert whole.guard is not None
    assert told(parted.guard) == told(whole.guard, SPIKE)
    assert (Kind.GRADIENT_SPIKE, SPIKE) in told(parted.guard)
    # The spike was cut down to the level that was learned before: without it, these weights are others.
    assert all(torch.equal(a, b) for a, b in zip(weights, expected, strict=True))
    assert parted.guard.state_dict() == whole.guard.state_dict()


def test_a_loss_that_is_not_a_number_is_written_down_as_it_was(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    loop = Loop()
    with Guard(loop.net, loop.optimizer, directory=tmp_path, forward_to="tensorboard") as loop.guard:
        loop.train(20, {5: math.nan, 8: math.inf})
    (record,), (events,) = tmp_path.glob("*.frec"), (tmp_path / "tensorboard").iterdir()
    for file in (record, events):
        for name in ("loss", "loss/mse", "grad_norm"):
            values = read(file).series[name].values
            assert len(values) == 20
            assert math.isnan(values[5])
            assert not math.isfinite(values[8])
            assert 0.0 not in values


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_what_looks_at_the_weights_right_behind_a_bad_step_finds_them_whole(optimizer: str) -> None:
    loop = Loop(optimizer)
    average = AveragedModel(loop.net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    seen: list[list[Tensor]] = []

    def look(*_: object) -> None:
        seen.append([one.detach().clone() for one in loop.net.parameters()])

    with Guard(loop.net, loop.optimizer, ema=average) as loop.guard:
        loop.optimizer.register_step_post_hook(look)
        loop.train(12, {6: math.nan}, behind=lambda step: average.update_parameters(loop.net))
    assert all(torch.equal(a, b) for a, b in zip(seen[5], seen[6], strict=True))
    assert all(one.isfinite().all() for one in average.parameters())
