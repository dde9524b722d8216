"""The blocks of the training loop on a GPU: no step waits for it, and a resume is exact there too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from stethoscope.blocks.accumulation import accumulated
from stethoscope.blocks.ema import EMA
from stethoscope.blocks.full_checkpoint import FullCheckpoint
from stethoscope.blocks.loss_balancing import LossBalancer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is here"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode"),
]


@contextmanager
def _no_waiting() -> Iterator[None]:
    """An error where the host waits for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_average_is_updated_without_waiting_and_refuses_nan(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Linear(64, 8)).cuda().to(dtype)
    ema = EMA(model, decay=0.5, warmup="none")
    before = {name: one.clone() for name, one in ema.state_dict()["shadow"].items()}
    weight = model[0].weight
    with _no_waiting(), torch.no_grad():
        good = weight.clone()
        weight.fill_(torch.nan)
        ema.update()
        weight.copy_(good + 1)
        ema.update()
    assert ema.skipped() == 1
    torch.testing.assert_close(
        ema.state_dict()["shadow"]["0.weight"],
        (before["0.weight"] + weight.float()) / 2,
        rtol=1e-6,
        atol=1e-6,
    )


def test_an_average_follows_its_model_to_the_gpu() -> None:
    model = nn.Linear(2, 2)
    ema = EMA(model, decay=0.5, warmup="none")
    model.cuda()
    ema.update()
    assert ema.state_dict()["shadow"]["weight"].is_cuda


def test_losses_are_balanced_and_tokens_weighed_without_waiting() -> None:
    balancer = LossBalancer({"a": 1.0, "b": 0.5}, baseline_steps=2).cuda()
    terms = {"a": torch.tensor(0.1, device="cuda"), "b": torch.tensor(0.2, device="cuda")}
    counts = [torch.tensor(number, device="cuda") for number in (3, 1)]
    with _no_waiting():
        for _ in range(5):
            total = balancer(terms)
        found = [micro.share for micro in accumulated(counts, every=2, weigh=lambda count: count)]
    assert total.item() == pytest.approx(0.2)
    assert [float(share) for share in found] == [0.75, 0.25]


def test_a_resumed_training_in_half_precision_is_exact(tmp_path: Path) -> None:
    def parts(seed: int) -> dict[str, object]:
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.3), nn.Linear(64, 1)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        return {
            "model": model,
            "optimizer": optimizer,
            "scaler": torch.amp.GradScaler("cuda", growth_interval=3),
            "ema": EMA(model, decay=0.9),
        }

    def run(training: dict[str, object], steps: int) -> list[float]:
        model, optimizer, scaler, ema = training.values()
        losses = []
        for _ in range(steps):
            x = torch.randn(16, 32, device="cuda")
            with torch.autocast("cuda", dtype=torch.float16):
                loss = (model(x).float() - x.sum(1, keepdim=True)).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            ema.update()
            losses.append(loss.item())
        return losses

    whole = parts(0)
    run(whole, 7)
    FullCheckpoint(tmp_path, **whole).save(7)
    expected = run(whole, 10)
    again = parts(1)
    done = FullCheckpoint(tmp_path, **again).resume()
    assert done.notes == ()
    assert run(again, 10) == expected
    ours, theirs = (one["ema"].state_dict()["shadow"] for one in (again, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
