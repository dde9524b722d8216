"""Guard around compiled code: the model, and the optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stethoscope.guard import Guard, Kind

# Traces as every backend does, and needs no compiler of C++.
BACKEND = "aot_eager"
STEPS = 12
BAD = 6

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, while it traces itself


@dataclass(frozen=True, slots=True)
class Trained:
    """What a loop leaves behind; `graphs` is how much was compiled, and how often compiling broke off."""

    losses: list[float]
    weights: list[Tensor]
    graphs: dict[str, int]
    guard: Guard | None


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """What one test compiles is nothing to the next."""
    yield
    torch._dynamo.reset()


def train(is_guarded: bool, what: str, *, fused: bool, bad: int | None = None, **options: Any) -> Trained:
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 1))
    model = torch.compile(net, backend=BACKEND) if what in ("model", "both") else net
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2, fused=fused)
    guard = Guard(model, optimizer, **options) if is_guarded else None
    is_compiled = what in ("step", "both")
    update = torch.compile(optimizer.step, backend=BACKEND) if is_compiled else optimizer.step
    losses, weights = [], []
    for step in range(STEPS):
        x = torch.randn(16, 8)
        y = x.sum(1, keepdim=True)
        if step == bad:
            x[2, 3] = math.nan
        weights.append(nn.utils.parameters_to_vector(net.parameters()).detach().clone())
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        if guard is not None:
            guard.loss(loss)
        loss.backward()
        update()
        losses.append(loss.item())
    if guard is not None:
        guard.close()
        assert guard.failure is None
    weights.append(nn.utils.parameters_to_vector(net.parameters()).detach())
    graphs = {**counters["stats"], "breaks": sum(counters["graph_break"].values())}
    return Trained(losses, weights, graphs, guard)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("what", ["model", "step", "both"])
def test_a_healthy_run_is_bit_identical_and_compiled_as_often(what: str, fused: bool) -> None:
    bare = train(False, what, fused=fused)
    guarded = train(True, what, fused=fused, clip_spikes=True, rewind=True)
    assert guarded.losses == bare.losses
    assert torch.equal(guarded.weights[-1], bare.weights[-1])
    assert guarded.graphs == bare.graphs


@pytest.mark.parametrize("fused", [False, True])
def test_a_bad_batch_of_a_compiled_model_is_skipped_and_named(fused: bool) -> None:
    run = train(True, "model", fused=fused, bad=BAD)
    assert torch.equal(run.weights[BAD], run.weights[BAD + 1])
    assert run.weights[-1].isfinite().all()
    assert run.guard is not None
    assert [one.kind for one in run.guard.happenings] == [Kind.NON_FINITE_INPUT, Kind.CULPRIT]


def test_a_compiled_step_is_told_of_once_and_at_once() -> None:
    run = train(True, "step", fused=False, bad=BAD)
    assert run.guard is not None
    (told,) = (one for one in run.guard.happenings if one.kind is Kind.OBSERVES_ONLY)
    assert "compiled" in told.seen
    assert "not skipped" in told.means
    assert told.step <= 1
