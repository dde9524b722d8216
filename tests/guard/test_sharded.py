"""Guard of a model whose parameters are spread over ranks (FSDP2): real processes, over gloo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.guard.launching import launched

WORKER = r"""
import hashlib, json, logging, math, os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from stethoscope.guard import Guard, Policy

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
folder = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = dist.device_mesh.init_device_mesh("cpu", (2,))


def told(weights):
    return hashlib.sha256(weights.numpy().tobytes()).hexdigest()


def train(name, steps, fused=False, clip=False, guarded=True, nan_at=-1, fast=range(0), **chosen):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 17), nn.ReLU(), nn.Linear(17, 1))  # 17 rows: one rank has more of them
    fully_shard(net[0], mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2, fused=fused)
    guard = Guard(net, optimizer, directory=f"{folder}/{name}", policy=Policy(**chosen)) if guarded else None
    draw = torch.Generator().manual_seed(rank)
    losses, held = [], []

    def weights():
        return torch.cat([p.full_tensor().detach().flatten() for p in net.parameters()])

    for step in range(steps):
        x = torch.randn(16, 8, generator=draw)
        y = x.sum(1, keepdim=True)
        if rank == 1 and step == nan_at:
            x[2, 3] = math.nan
        optimizer.param_groups[0]["lr"] = 3.0 if step in fast else 1e-2
        if step in (nan_at, nan_at + 1):
            held.append(told(weights()))
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        if guard is not None:
            guard.loss(loss)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    allowed = []
    if guard is not None:
        state = {"model": net.state_dict(), "optimizer": optimizer.state_dict()}
        allowed.append(guard.allows(state, f"{folder}/{name}.pt"))
        if rank == 0:
            with torch.no_grad():
                spoiled = net[0].weight.to_local()
                kept = spoiled.clone()
                spoiled[0, 0] = math.nan
        allowed.append(guard.allows(state, f"{folder}/{name}.pt"))
        if rank == 0:
            with torch.no_grad():
                spoiled.copy_(kept)
        guard.close()
    last = weights()
    return {
        "losses": losses,
        "weights": told(last),
        "finite": bool(last.isfinite().all()),
        "held": held,
        "allowed": allowed,
        "kinds": [one.kind for one in guard.happenings] if guard else [],
        "failure": guard.failure if guard else None,
    }


acting = {"rewind": True, "clip_spikes": True, "snapshot_steps": 10, "ramp_steps": 20, "window": 4}
found = {
    "bare": train("bare", 20, clip=True, guarded=False),
    "guarded": train("guarded", 20, clip=True, **acting),
    "bare fused": train("bare fused", 20, fused=True, guarded=False),
    "guarded fused": train("guarded fused", 20, fused=True, **acting),
    "nan": train("nan", 16, nan_at=5, window=4),
    "nan fused": train("nan fused", 16, fused=True, nan_at=5, window=4),
    "fast": train("fast", 130, fused=True, fast=range(60, 66), **acting),
}
print(json.dumps(found), flush=True)
os._exit(0)
"""

Runs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What each of two ranks found in all trainings: starting processes takes longer than training does."""
    outcomes = launched(WORKER, tmp_path_factory.mktemp("sharded"))
    assert all("bare" in one for one in outcomes), outcomes
    assert all(run["failure"] is None for one in outcomes for run in one.values()), outcomes
    return outcomes


@pytest.mark.parametrize("optimizer", ["", " fused"])
def test_a_healthy_run_is_bit_identical(ranks: Runs, optimizer: str) -> None:
    for one in ranks:
        bare, guarded = one[f"bare{optimizer}"], one[f"guarded{optimizer}"]
        assert guarded["losses"] == bare["losses"]
        assert guarded["weights"] == bare["weights"]


@pytest.mark.parametrize("run", ["nan", "nan fused"])
def test_a_bad_batch_on_one_rank_is_skipped_on_both(ranks: Runs, run: str) -> None:
    before, after = ranks[0][run]["held"]
    assert before == after
    assert ranks[0][run]["weights"] == ranks[1][run]["weights"] != after
    assert ranks[0][run]["finite"]
    assert "non-finite-input" in ranks[1][run]["kinds"]
    # The box is written where the batch was, and the other rank says that it was not there.
    assert "black-box-written" in ranks[1][run]["kinds"]
    assert ranks[0][run]["kinds"][:2] == ["non-finite-loss", "culprit"]
    assert "black-box-written" not in ranks[0][run]["kinds"]


def test_both_ranks_go_back_together(ranks: Runs) -> None:
    first, second = (one["fast"] for one in ranks)
    assert first["kinds"].count("rewound") == second["kinds"].count("rewound") == 1
    assert first["weights"] == second["weights"]
    assert max(first["losses"][-20:]) < 0.01 * max(first["losses"])


def test_a_checkpoint_with_one_bad_share_is_refused_by_both(ranks: Runs) -> None:
    for one in ranks:
        assert one["guarded"]["allowed"] == [True, False]
        assert "bad-checkpoint" in one["guarded"]["kinds"]
