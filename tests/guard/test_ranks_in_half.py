"""Guard among processes that train in half precision with a loss scale: real ones, over gloo."""

from __future__ import annotations

from tests.guard.launching import launched

WORKER = r"""
import hashlib, json, logging, math, os, sys
import torch, torch.distributed as dist
from torch import nn
from stethoscope.guard import Guard, Policy

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()


def train(guarded=True, fused=False, fault="", steps=40):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=8)
    guard = None
    if guarded:
        policy = Policy(rewind=True, clip_spikes=True, snapshot_steps=10, window=4)
        guard = Guard(model, optimizer, scaler=scaler, policy=policy)
    draw = torch.Generator().manual_seed(rank)
    losses = []
    for step in range(steps):
        x = torch.randn(16, 8, generator=draw)
        y = x.sum(1, keepdim=True)
        if fault and rank == 1 and step == 21:
            x[2, 3] = math.nan if fault == "nan" else 60000.0
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            out = model(x)
            loss = (out.float() - y).square().mean()
        if guard is not None:
            guard.loss(loss)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    if guard is not None:
        guard.close()
    weights = torch.cat([p.detach().flatten() for p in net.parameters()])
    return {
        "losses": losses,
        "weights": hashlib.sha256(weights.numpy().tobytes()).hexdigest(),
        "finite": bool(weights.isfinite().all()),
        "scale": scaler.get_scale(),
        "failure": guard.failure if guard else None,
        "kinds": [one.kind for one in guard.happenings] if guard else [],
        "updates": int(next(iter(optimizer.state.values()))["step"]),
    }


found = {}
for fused in (False, True):
    kind = "fused" if fused else "plain"
    found[f"bare {kind}"] = train(guarded=False, fused=fused)
    found[f"guarded {kind}"] = train(fused=fused)
    found[f"nan {kind}"] = train(fused=fused, fault="nan")
found["overflow"] = train(fault="overflow")
print(json.dumps(found), flush=True)
os._exit(0)
"""


def test_a_scaled_run_is_bit_identical_and_a_bad_batch_is_skipped_on_both_ranks() -> None:
    first, second = launched(WORKER)
    for kind in ("plain", "fused"):
        for one in (first, second):
            assert one.get(f"guarded {kind}", one)["failure"] is None
            assert one[f"guarded {kind}"]["losses"] == one[f"bare {kind}"]["losses"]
            assert one[f"guarded {kind}"]["weights"] == one[f"bare {kind}"]["weights"]
            assert one[f"guarded {kind}"]["scale"] == one[f"bare {kind}"]["scale"] == 256.0 * 2**5
        assert second[f"nan {kind}"]["kinds"][0] == "non-finite-input"
    for fault in ("nan plain", "nan fused", "overflow"):
        mine, other = first[fault], second[fault]
        assert mine["failure"] is other["failure"] is None
        assert mine["weights"] == other["weights"]
        assert mine["finite"]
        assert mine["updates"] == other["updates"] == 39
        # Where the loss itself is not finite, no smaller scale cures it: there is one skip and no backoff.
        assert mine["scale"] == other["scale"] == 256.0 * (2**4 if "nan" in fault else 2**3)
