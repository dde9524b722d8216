"""The norm that clipping computes is heard, and nothing is kept of it."""

from __future__ import annotations

import gc
import weakref
from weakref import WeakSet

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad

from stethoscope import Guard
from stethoscope.guard.sensing import clip_norm


def stepped(net: nn.Module, optimizer: torch.optim.Optimizer) -> Tensor:
    loss: Tensor = net(torch.randn(4, 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = clip_grad.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return norm


def test_torch_is_left_as_it_was_when_the_last_guard_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = clip_grad._get_total_norm
    before = getattr(found, "by_torch", found)
    monkeypatch.setattr(clip_grad, "_get_total_norm", before)  # other tests may have left a Guard open
    monkeypatch.setattr(clip_norm, "_listeners", WeakSet())
    net = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(net.parameters())
    with Guard(net, optimizer):
        with Guard(net, optimizer):
            stepped(net, optimizer)
        assert clip_grad._get_total_norm is not before
    assert clip_grad._get_total_norm is before


def test_gradients_of_an_optimizer_that_is_not_guarded_are_not_kept_alive() -> None:
    net, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer, free = (torch.optim.SGD(one.parameters(), 0.1) for one in (net, other))
    with Guard(net, optimizer):
        gone = []
        for _ in range(4):
            stepped(other, free)
            gone.append(weakref.ref(other.weight.grad))
        stepped(net, optimizer)
        free.zero_grad()
        gc.collect()
        assert [one() for one in gone] == [None] * 4
    assert not clip_norm._heard


def test_a_guard_that_nobody_closed_is_let_go_with_its_optimizer() -> None:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    gone = weakref.ref(Guard(net, optimizer))
    stepped(net, optimizer)
    del net, optimizer
    gc.collect()
    assert gone() is None


def test_another_norm_than_the_euclidean_one_is_not_taken() -> None:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with Guard(net, optimizer) as guard:
        loss: Tensor = net(torch.ones(4, 3)).square().mean()
        guard.loss(loss)
        loss.backward()
        wanted = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in net.parameters()]))
        clip_grad.clip_grad_norm_(net.parameters(), 1e9, norm_type=float("inf"))
        optimizer.step()
        assert guard._court.recent[-1].values["grad_norm"] == pytest.approx(float(wanted))
