"""Parameters, buffers and disks that Guard must not stumble over."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer, SparseAdam

from stethoscope.guard import Guard, Kind, Policy
from tests.guard.loops import nan_at, train

BAD = 25
STEPS = 40

pytestmark = pytest.mark.filterwarnings("ignore")  # of lazy modules and quantised tensors


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Compute with one thread: for networks this small, several wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a loop trains, and by what; `between` is called before each step."""

    net: nn.Module
    optimizers: list[Optimizer]
    out: Callable[[Tensor], Tensor]
    between: Callable[[int], None] = lambda step: None


def added_later(fused: bool) -> Setup:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    optimizer = AdamW(net[0].parameters(), 1e-2, fused=fused)

    def between(step: int) -> None:
        if step == 8:
            optimizer.add_param_group({"params": net[1].parameters(), "lr": 1e-3})

    return Setup(net, [optimizer], net, between)


def unfrozen_later() -> Setup:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[0].requires_grad_(False)

    def between(step: int) -> None:
        if step == 8:
            net[0].requires_grad_(True)

    return Setup(net, [AdamW(net.parameters(), 1e-2)], net, between)


def sparse_gradients() -> Setup:
    table, last = nn.Embedding(10, 4, sparse=True), nn.Linear(4, 4)
    optimizers = [SparseAdam(table.parameters(), 1e-2), AdamW(last.parameters(), 1e-2)]
    return Setup(
        nn.ModuleList([table, last]), optimizers, lambda x: last(table(torch.arange(len(x)) % 10) * x)
    )


def meta_parameters() -> Setup:
    used = nn.Linear(4, 4)
    net = nn.ModuleList([nn.Linear(4, 4, device="meta"), used])
    return Setup(net, [AdamW(net.parameters(), 1e-2)], used)


class Complex(nn.Module):
    """Weights with an imaginary part."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, dtype=torch.complex64))

    def forward(self, x: Tensor) -> Tensor:
        """The size of a complex product."""
        return (x.to(torch.complex64) @ self.weight).abs()


class OfAllSizes(nn.Module):
    """Parameters of three precisions, and one without numbers; the widest comes first."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Parameter(torch.ones(4, dtype=torch.float64))
        self.layer = nn.Linear(4, 4)
        self.short = nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
        self.none = nn.Parameter(torch.empty(0, 3))

    def forward(self, x: Tensor) -> Tensor:
        """All of them multiplied."""
        out: Tensor = self.layer(x).double() * self.wide * self.short + self.none.sum()
        return out


def simple(net: nn.Module, make: Callable[..., Optimizer] = AdamW, **options: object) -> Setup:
    return Setup(net, [make(net.parameters(), 1e-2, **options)], net)


def odd_buffers() -> Setup:
    net = nn.Linear(4, 4)
    odd = {
        "eight_bits": torch.ones(4).to(torch.float8_e4m3fn),
        "eight_others": torch.ones(4).to(torch.float8_e5m2),
        "whole": torch.arange(4),
        "flags": torch.tensor([True, False]),
        "bytes": torch.ones(3, dtype=torch.uint8),
        "sparse": torch.eye(3).to_sparse(),
        "complex": torch.ones(2, dtype=torch.complex64),
        "quantised": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        "meta": torch.ones(3, device="meta"),
        "none": torch.empty(0),
    }
    for name, buffer in odd.items():
        net.register_buffer(name, buffer)
    return simple(net)


SETUPS: dict[str, Callable[[], Setup]] = {
    "added later": lambda: added_later(fused=False),
    "added later, fused": lambda: added_later(fused=True),
    "unfrozen later": unfrozen_later,
    "sparse gradients": sparse_gradients,
    "meta": meta_parameters,
    "complex": lambda: simple(Complex()),
    "of all sizes": lambda: simple(OfAllSizes()),
    "of all sizes, fused": lambda: simple(OfAllSizes(), fused=True),
    "half": lambda: simple(nn.Linear(4, 4).bfloat16(), SGD),
    "lazy": lambda: simple(nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.Linear(4, 4)), SGD),
    "odd buffers": odd_buffers,
}


def trained(
    name: str, is_guarded: bool, is_bad: bool = False, directory: Path | None = None
) -> tuple[list[float], dict[int, list[Tensor]], Setup, Guard | None]:
    torch.manual_seed(0)
    setup = SETUPS[name]()
    policy = Policy(rewind=True, clip_spikes=True, snapshot_steps=5)
    guard = Guard(setup.net, setup.optimizers, policy=policy, directory=directory) if is_guarded else None
    draw = torch.Generator().manual_seed(1)
    losses, kept = [], {}
    for step in range(STEPS):
        setup.between(step)
        if step in (BAD, BAD + 1):
            kept[step] = [one.detach().clone() for one in setup.net.parameters() if not one.is_meta]
        x = torch.randn(16, 4, generator=draw) * (math.nan if is_bad and step == BAD else 1.0)
        x = x.to(next(setup.net.parameters()).dtype) if name == "half" else x
        for optimizer in setup.optimizers:
            optimizer.zero_grad()
        loss = (setup.out(x) - x).square().mean()
        if guard is not None:
            guard.loss(loss)
        loss.backward()
        for optimizer in setup.optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses, kept, setup, guard


@pytest.mark.parametrize("name", SETUPS)
def test_training_goes_on_as_without_and_a_bad_step_is_skipped(name: str, tmp_path: Path) -> None:
    bare = trained(name, is_guarded=False)[0]
    losses, _, _, guard = trained(name, is_guarded=True)
    assert guard is not None
    assert losses == bare
    assert guard.failure is None
    guard.close()
    _, kept, setup, guard = trained(name, is_guarded=True, is_bad=True, directory=tmp_path)
    assert guard is not None
    assert guard.failure is None
    assert guard.step == STEPS
    assert all(torch.equal(a, b) for a, b in zip(kept[BAD], kept[BAD + 1], strict=True))
    kinds = [one.kind for one in guard.happenings if one.kind is not Kind.PARAMETERS_LEFT_OUT]
    assert kinds[0] in (Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS)
    assert kinds[1:] == [Kind.CULPRIT, Kind.BLACK_BOX]
    assert guard.allows(setup.net.state_dict(), tmp_path / "last.pt")
    guard.close()


FULL = """
import json, logging, resource, signal, sys
import torch
from pathlib import Path
from tests.guard.loops import nan_at, train

torch.set_num_threads(1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as it does on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
told = []
logging.getLogger("stethoscope.guard").addHandler(logging.Handler())
logging.getLogger("stethoscope.guard").handlers[0].emit = lambda record: told.append(record.getMessage())
run = train(True, steps=120, spoil=nan_at(110), directory=Path(sys.argv[1]), arguments={"rewind": True})
print(json.dumps({
    "told": told,
    "losses": run.losses[:110],
    "failure": run.guard.failure,
    "finite": all(bool(one.isfinite().all()) for one in run.weights),
    "kinds": [one.kind for one in run.guard.happenings],
}))
"""


def test_a_disk_that_is_full_costs_the_record_and_nothing_else(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(ran.stdout)
    assert found["losses"] == train(False, steps=110).losses
    assert found["failure"] is None
    assert found["finite"]
    assert "non-finite-input" in found["kinds"]
    assert sum("flight record cannot be written any further" in one for one in found["told"]) == 1
    assert sum("No black box was written" in one for one in found["told"]) == 1


def test_a_folder_that_cannot_be_made_costs_record_and_tracker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("not a folder")
    with caplog.at_level(logging.WARNING, "stethoscope.guard"):
        run = train(
            True,
            spoil=nan_at(9),
            directory=tmp_path / "file" / "run",
            arguments={"forward_to": "tensorboard"},
        )
    assert run.guard is not None
    assert run.guard.failure is None
    assert all(bool(one.isfinite().all()) for one in run.weights)
    said = [record.getMessage() for record in caplog.records]
    assert sum("The flight record cannot be written" in one for one in said) == 1
    assert sum("tensorboard" in one for one in said) == 1
