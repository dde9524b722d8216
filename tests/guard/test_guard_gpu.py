"""A training on a GPU with Guard: nobody waits, bad steps are skipped exactly, and the record is true."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stethoscope import Guard
from stethoscope.guard import Kind
from stethoscope.read import read

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode"),  # torch says that it is a prototype
]
STEPS = 80
BAD = 21


class Training:
    """One loop in all its forms; `left_out` are steps that are not made at all."""

    def __init__(self, half: bool = False, static: bool = False, **options: Any) -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4)).cuda()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3, **options)
        self.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10, growth_interval=16) if half else None
        self.batches = [torch.randn(8, 16, device="cuda") for _ in range(STEPS)]
        self.losses: list[Tensor] = []
        self.static = torch.zeros((), device="cuda") if static else None

    def run(self, guard: Guard | None, left_out: frozenset[int] = frozenset()) -> None:
        for step, batch in enumerate(self.batches):
            if step not in left_out:
                self.step(batch, guard)

    def step(self, batch: Tensor, guard: Guard | None) -> None:
        with torch.autocast("cuda", torch.float16, enabled=self.scaler is not None):
            loss: Tensor = self.net(batch).float().square().mean()
        self.losses.append(loss.detach().clone())
        if guard is not None:
            guard.loss(loss, {"part": self._given(loss)})
        self.optimizer.zero_grad()
        if self.scaler is None:
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def _given(self, loss: Tensor) -> Tensor:
        """The loss itself, or in memory that each step writes to, as a CUDA graph does."""
        if self.static is None:
            return loss
        with torch.no_grad():
            self.static.data.copy_(loss.detach())
        return self.static.data

    def state(self) -> list[Tensor]:
        held = [self.optimizer.state[p] for p in self.net.parameters()]
        return [*(p.detach() for p in self.net.parameters()), *(v for one in held for v in one.values())]


def same(one: Training, other: Training) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state(), other.state(), strict=True))


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}])
def test_a_healthy_run_is_the_same_to_the_last_bit_and_recorded_as_it_was(
    half: bool, options: dict[str, Any], tmp_path: Path
) -> None:
    bare, guarded = Training(half, **options), Training(half, **options)
    bare.run(None)
    with Guard(guarded.net, guarded.optimizer, scaler=guarded.scaler, directory=tmp_path) as guard:
        guarded.run(guard)
    assert guard.failure is None
    assert torch.equal(torch.stack(bare.losses), torch.stack(guarded.losses))
    assert same(bare, guarded)
    recorded = read(tmp_path).series
    assert recorded["loss"].values.tolist() == torch.stack(guarded.losses).tolist()
    if half:
        assert recorded["loss_scale"].values[0] == 2.0**10
        assert recorded["loss_scale"].values[-1] == 2.0**14


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}, {"foreach": False}])
def test_a_bad_step_leaves_weights_moments_and_counters_as_they_were(options: dict[str, Any]) -> None:
    without, guarded = Training(**options), Training(**options)
    without.run(None, left_out=frozenset({BAD, BAD + 1}))
    for step in (BAD, BAD + 1):
        guarded.batches[step] = guarded.batches[step].clone().fill_(math.nan)
    with Guard(guarded.net, guarded.optimizer) as guard:
        guarded.run(guard)
    assert guard.failure is None
    assert same(without, guarded)
    kinds = {one.kind for one in guard.happenings}
    assert Kind.NON_FINITE_INPUT in kinds


@pytest.mark.parametrize("half", [False, True])
def test_no_step_waits_for_the_device(half: bool, tmp_path: Path) -> None:
    training = Training(half, fused=True)
    with Guard(training.net, training.optimizer, scaler=training.scaler, directory=tmp_path) as guard:
        for batch in training.batches[:20]:
            training.step(batch, guard)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for batch in training.batches[20:70]:
                training.step(batch, guard)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert guard.failure is None


def test_a_loss_in_memory_that_is_used_again_is_left_out_or_right(tmp_path: Path) -> None:
    training = Training(static=True, fused=True)
    with Guard(training.net, training.optimizer, directory=tmp_path) as guard:
        training.run(guard)
    assert guard.failure is None
    part = read(tmp_path).series["loss/part"]
    wanted = torch.stack(training.losses).tolist()
    assert len(part.steps) >= STEPS - 20
    assert all(
        math.isnan(value) or value == wanted[step]
        for step, value in zip(part.steps.tolist(), part.values.tolist(), strict=True)
    )


def test_a_step_in_a_cuda_graph_is_told_of() -> None:
    net = nn.Linear(4, 4).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True, capturable=True)
    batch = torch.randn(8, 4, device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        net(batch).square().mean().backward()
        optimizer.step()

    with Guard(net, optimizer) as guard:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
        assert any(one.kind is Kind.OBSERVES_ONLY for one in guard.happenings)
        assert guard.failure is None
