"""Snapshots of parameters that are spread over two processes: each keeps its share, and nobody is asked."""

from __future__ import annotations

import socket
import subprocess
import sys

TWO_RANKS = """
import sys
import torch
from torch import nn
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.debug import CommDebugMode
from stethoscope.guard.sensing.finite import all_finite
from stethoscope.guard.rewind.snapshots import Parts, Snapshots
from stethoscope.guard.sensing.structure import ClearedGradients, left_out

rank, port = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
assert all(isinstance(one, DTensor) for one in model.parameters())
assert left_out(model, [optimizer]) is None
watch = ClearedGradients(optimizer)
snapshots = Snapshots(Parts.of(model, optimizer), 1 << 30)

def train(first, steps):
    losses = []
    for step in range(first, first + steps):
        generator = torch.Generator().manual_seed(100 * rank + step)
        loss = model(torch.randn(8, 4, generator=generator)).square().mean()
        loss.backward()
        optimizer.step()
        watch.stepped()
        assert watch.happening(step) is None
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses

train(0, 3)
places = [one.to_local().data_ptr() for one in model.parameters()]
with CommDebugMode() as talk:
    assert snapshots.take(3)
    held = snapshots.bytes_each
expected = train(3, 12)
assert train(15, 1) != expected[:1]
with CommDebugMode() as more_talk:
    assert snapshots.restore(snapshots.at(3)) == ()
assert talk.get_total_counts() == more_talk.get_total_counts() == 0
assert train(3, 12) == expected
assert places == [one.to_local().data_ptr() for one in model.parameters()]

if rank == 1:  # what is broken on one rank is that rank's to see
    with torch.no_grad():
        next(model.parameters()).to_local().fill_(float("nan"))
snapshots.take(200)
assert snapshots.good_steps() == ((3, 200) if rank == 0 else (3,))
assert bool(all_finite(model.parameters())) is (rank == 0)
print("well", held)
dist.destroy_process_group()
"""


def test_sharded_parameters_are_copied_and_put_back_by_each_rank() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    both = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_RANKS, str(rank), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    told = [process.communicate(timeout=120) for process in both]
    assert [out.split()[:1] for out, _ in told] == [["well"], ["well"]], "\n".join(
        problem for _, problem in told
    )
