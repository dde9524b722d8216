"""Guard among several processes: real ones, over gloo."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.guard.launching import launched

WORKER = r"""
import hashlib, json, logging, math, os, signal, sys, time
import torch, torch.distributed as dist
from torch import nn
from stethoscope.guard import Guard, GuardStopped, Policy

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
fault, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
model = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2, fused=fault != "unfused")
guard = None
if fault != "none":
    policy = Policy(rewind=True, snapshot_steps=20, ramp_steps=50)
    guard = Guard(model, optimizer, directory=folder, policy=policy)
draw = torch.Generator().manual_seed(rank)
stopped = False
try:
    for step in range(steps):
        x = torch.randn(16, 8, generator=draw)
        y = x.sum(1, keepdim=True)
        if fault in ("nan", "unfused") and rank == 1 and step == 30:
            x[2, 3] = math.nan
        if fault == "always" and rank == 1 and step >= 30:
            x[2, 3] = math.nan
        if fault == "killed" and rank == 1 and step == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "slow" and rank == 1:
            time.sleep(0.01)
        if fault == "broken" and rank == 1 and step == 25:
            guard._session._take_down = None
        if fault == "rate":
            optimizer.param_groups[0]["lr"] = 3.0 if 200 <= step < 206 else 1e-2
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        if guard is not None:
            guard.loss(loss)
        loss.backward()
        optimizer.step()
except GuardStopped:
    stopped = True
if guard is not None:
    guard.close()
weights = torch.cat([p.detach().flatten() for p in net.parameters()])
print(json.dumps({
    "rank": rank, "stopped": stopped, "finite": bool(torch.isfinite(weights).all()), "step": step,
    "weights": hashlib.sha256(weights.numpy().tobytes()).hexdigest(),
    "kinds": sorted({one.kind for one in guard.happenings}) if guard else [],
    "failure": guard.failure if guard else None,
}), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(("fault", "size"), [("nan", 2), ("nan", 4), ("unfused", 2)])
def test_a_bad_batch_on_one_rank_is_skipped_on_all(tmp_path: Path, fault: str, size: int) -> None:
    outcomes = launched(WORKER, fault, tmp_path, 90, size=size)
    assert all(one.get("finite") for one in outcomes), outcomes
    assert len({one["weights"] for one in outcomes}) == 1
    assert all(one["failure"] is None and not one["stopped"] for one in outcomes)
    assert "non-finite-input" in outcomes[1]["kinds"]


def test_a_healthy_run_is_bit_identical_among_ranks(tmp_path: Path) -> None:
    bare, watched = (launched(WORKER, fault, tmp_path / fault, 60) for fault in ("none", "healthy"))
    assert {one["weights"] for one in bare} == {one["weights"] for one in watched}


def test_all_ranks_stop_at_the_same_step(tmp_path: Path) -> None:
    outcomes = launched(WORKER, "always", tmp_path, 200)
    assert all(one.get("stopped") and one["finite"] for one in outcomes), outcomes
    assert len({one["step"] for one in outcomes}) == 1
    assert len({one["weights"] for one in outcomes}) == 1


def test_all_ranks_go_back_to_the_same_step(tmp_path: Path) -> None:
    outcomes = launched(WORKER, "rate", tmp_path, 400)
    assert all("rewound" in one.get("kinds", ()) for one in outcomes), outcomes
    assert len({one["weights"] for one in outcomes}) == 1


def test_a_slow_rank_holds_nobody_up_for_good(tmp_path: Path) -> None:
    outcomes = launched(WORKER, "slow", tmp_path, 60)
    assert all(one.get("failure", "") is None for one in outcomes), outcomes


def test_a_rank_whose_guard_fails_keeps_the_others_going(tmp_path: Path) -> None:
    outcomes = launched(WORKER, "broken", tmp_path, 120)
    assert all(one.get("finite") for one in outcomes), outcomes
    assert len({one["weights"] for one in outcomes}) == 1
    assert outcomes[1]["failure"] is not None


def test_a_killed_rank_does_not_hang_the_others(tmp_path: Path) -> None:
    outcomes = launched(WORKER, "killed", tmp_path, 120)
    assert outcomes[1]["status"] == -signal.SIGKILL
    # The loop's own collective fails, as it would without Guard.
    assert outcomes[0].get("status") not in {None, 0}
