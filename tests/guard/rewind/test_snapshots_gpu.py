"""Snapshots of a training on a GPU: nobody waits for one, and going back is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from stethoscope.guard.rewind import host_copies
from stethoscope.guard.rewind.snapshots import Parts, Snapshots
from stethoscope.guard.sensing.finite import all_finite

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode"),  # torch says that it is a prototype
]
ROOMY = 1 << 30


@pytest.fixture
def no_waiting() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


class Training:
    """Half precision with a scaler, dropout, batch statistics and a schedule."""

    def __init__(self, **options: Any) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 8)
        ).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, **options)
        self.scaler = torch.amp.GradScaler("cuda", growth_interval=4)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 100)
        self.parts = Parts.of(self.model, self.optimizer, scaler=self.scaler, schedule=self.schedule)

    def run(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            with torch.autocast("cuda", torch.float16):
                loss = self.model(torch.randn(32, 64, device="cuda")).square().mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.schedule.step()
            losses.append(loss.detach())
        return [loss.item() for loss in losses]


@pytest.mark.parametrize("has_room", [True, False])
@pytest.mark.parametrize(
    "options", [{"fused": True}, {"foreach": True}, {"foreach": False}, {"capturable": True}]
)
def test_a_run_that_went_back_is_bit_identical(
    options: dict[str, bool], has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_copies, "ROOM", 0 if has_room else math.inf)
    never_left = Training(**options)
    never_left.run(5)
    expected = never_left.run(8)
    training = Training(**options)
    training.run(5)
    snapshots = Snapshots(training.parts, ROOMY)
    snapshots.take(5)
    training.run(6)  # the weights change while the copies travel
    snapshot = snapshots.at(5)
    assert snapshot is not None
    for _ in range(2):
        assert snapshots.restore(snapshot) == ()
        assert training.run(8) == expected


@pytest.mark.parametrize("has_room", [True, False])
def test_taking_one_waits_for_nothing(
    has_room: bool, no_waiting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_copies, "ROOM", 0 if has_room else math.inf)
    torch.cuda.set_sync_debug_mode("default")
    training = Training(fused=True)
    training.run(3)
    snapshots = Snapshots(training.parts, ROOMY, keep=2)
    torch.cuda.set_sync_debug_mode("error")
    for step in range(5):
        assert snapshots.take(step)
    torch.cuda._sleep(1_000_000_000)
    snapshots.take(5)
    latest = snapshots.at(5)
    assert latest is not None
    assert not latest.copies.is_done  # half a second of work lies before it
    torch.cuda.set_sync_debug_mode("default")
    assert latest.is_good


def test_a_bad_weight_is_seen_on_the_device(no_waiting: None) -> None:
    torch.cuda.set_sync_debug_mode("default")
    weights = [torch.ones(100, device="cuda"), torch.ones(3), torch.ones(4, device="cuda").half()]
    torch.cuda.set_sync_debug_mode("error")
    well = all_finite(weights)
    weights[0].fill_(math.nan)
    ill = all_finite(weights)
    torch.cuda.set_sync_debug_mode("default")
    assert (well.device.type, well.item(), ill.item()) == ("cuda", True, False)


def test_page_locked_memory_is_counted_as_it_is_handed_out() -> None:
    assert host_copies.bytes_needed([torch.ones(300, device="cuda")]) == 2048
