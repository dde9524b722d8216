"""Numbers that are left on the device until a window is full: as on a GPU, but for the copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from stethoscope import Guard
from stethoscope.guard import session
from stethoscope.read import read

STEPS = 70
Given = Callable[[Tensor], Tensor]


@pytest.fixture(autouse=True)
def as_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_not_waited_for", lambda device: True)


def recorded(
    folder: Path, given: Given, behind: Given = lambda loss: loss
) -> tuple[list[float], list[float]]:
    """The losses of a training, and what the record says of them, NaN where it says nothing."""
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    losses: list[float] = []
    with Guard(net, optimizer, directory=folder) as guard:
        for _ in range(STEPS):
            loss = net(torch.randn(8, 4)).square().mean()
            losses.append(loss.item())
            guard.loss(given(loss))
            optimizer.zero_grad()
            loss.backward()
            behind(loss)
            optimizer.step()
    assert guard.failure is None
    series = read(folder).series["loss"]
    found = dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))
    return losses, [found.get(step, math.nan) for step in range(STEPS)]


def test_each_loss_is_recorded_as_it_was(tmp_path: Path) -> None:
    losses, found = recorded(tmp_path, lambda loss: loss)
    assert found == losses


def test_a_loss_that_is_divided_in_place_afterwards_is_left_out_or_right(tmp_path: Path) -> None:
    losses, found = recorded(tmp_path, lambda loss: loss, lambda loss: loss.detach().div_(4.0))
    assert all(map(math.isnan, found[:16]))  # noticed when the first window is gathered
    assert found[16:] == losses[16:]


def test_a_loss_in_memory_that_each_step_writes_to_is_left_out_or_right(tmp_path: Path) -> None:
    memory = torch.zeros(())

    def as_in_a_graph(loss: Tensor) -> Tensor:
        held = torch.frombuffer(memory.numpy(), dtype=torch.float32).reshape(())
        held.copy_(loss.detach())
        return held

    losses, found = recorded(tmp_path, as_in_a_graph)
    assert all(map(math.isnan, found[:15]))  # noticed when the first window is gathered, which holds the last
    assert found[15:] == losses[15:]


def test_a_loss_that_was_not_reduced_is_averaged(tmp_path: Path) -> None:
    losses, found = recorded(tmp_path, lambda loss: torch.stack([loss * 0.5, loss * 1.5]))
    assert found == pytest.approx(losses)


def test_the_mean_over_accumulated_batches_is_recorded(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    means: list[float] = []
    with Guard(net, optimizer, directory=tmp_path) as guard:
        for _ in range(20):
            losses = [net(torch.randn(8, 4)).square().mean() for _ in range(4)]
            for loss in losses:
                guard.loss(loss, {"half": loss.detach() / 2.0, "fixed": 3.0})
                (loss / 4.0).backward()
            optimizer.step()
            optimizer.zero_grad()
            means.append(torch.stack(losses).mean().item())
    series = read(tmp_path).series
    # At the first step it is not known yet that there will be several batches: its first one is left out.
    assert series["loss"].values.tolist()[1:] == pytest.approx(means[1:])
    assert series["loss/half"].values.tolist()[1:] == pytest.approx([mean / 2.0 for mean in means[1:]])
    assert set(series["loss/fixed"].values.tolist()) == {3.0}


def test_a_learning_rate_that_is_a_tensor_is_recorded_step_by_step(tmp_path: Path) -> None:
    net = nn.Linear(4, 1)
    rate = torch.tensor(0.5)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    with Guard(net, optimizer, directory=tmp_path) as guard:
        for _ in range(20):
            loss = net(torch.randn(8, 4)).square().mean()
            guard.loss(loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.mul_(0.5)
    assert read(tmp_path).series["lr"].values.tolist() == [0.5**step for step in range(1, 21)]


@pytest.mark.parametrize("lags", [True, False])
def test_what_torch_makes_by_default_is_not_relied_on(
    lags: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "is_not_waited_for", lambda device: lags)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    batches = [torch.randn(8, 4) for _ in range(40)]
    batches[20] = torch.full((8, 4), math.nan)
    # With a default device on which nothing has a value, whatever is made without naming a device breaks.
    with torch.device("meta"), Guard(net, optimizer, directory=tmp_path, rewind=True) as guard:
        for batch in batches:
            loss = net(batch).square().mean()
            guard.loss(loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert guard.failure is None
    assert bool(torch.isfinite(net.weight).all())
    assert len(read(tmp_path).series["loss"].steps) == 40
