"""Guard in a Fabric loop, on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from stethoscope.errors import GuardStopped
from stethoscope.guard.happening import Kind
from stethoscope.guard.policy import Threshold

from .recorded import recorded

pytest.importorskip("lightning.fabric")

from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision

from stethoscope.integrations.fabric import guard_fabric

# Fabric warns of loaders without workers and of schedules before a skipped step.
pytestmark = pytest.mark.filterwarnings("ignore")

STEPS = 10


def fabric(precision: str) -> Fabric:
    if precision == "fp16":
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
        return Fabric(accelerator="cpu", devices=1, plugins=[MixedPrecision("16-mixed", "cpu", scaler)])
    return Fabric(accelerator="cpu", devices=1, precision="bf16-mixed" if precision == "bf16" else "32-true")


def train(
    precision: str = "fp32", *, guarded: Path | None = None, bad: int | None = None, **options: Any
) -> tuple[list[Tensor], list[Tensor], Any]:
    """The losses and weights of ten steps, and the guard."""
    one = fabric(precision)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.Linear(16, 1))
    fused = options.pop("fused", None)
    model, optimizer = one.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-2, fused=fused))
    guard = guard_fabric(one, model, optimizer, directory=guarded, **options) if guarded else None
    data = torch.randn(STEPS, 4, 6, generator=torch.Generator().manual_seed(1))
    if bad is not None:
        data[bad, 0, 0] = torch.nan
    losses = []
    for x in guard.batches(data) if guard else data:
        optimizer.zero_grad()
        loss = mse_loss(model(x), x.sum(1, keepdim=True).nan_to_num())
        if guard:
            guard.loss(loss)
        one.backward(loss)
        if fused is None:
            one.clip_gradients(model, optimizer, max_norm=0.5, error_if_nonfinite=False)
        optimizer.step()
        losses.append(loss.detach())
    if guard:
        guard.close()
        assert guard.failure is None
    return losses, [parameter.detach() for parameter in net.parameters()], guard


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_healthy_run_is_the_same_to_the_bit(precision: str, tmp_path: Path) -> None:
    losses, weights, guard = train(precision, guarded=tmp_path)
    bare_losses, bare_weights, _ = train(precision)
    torch.testing.assert_close(losses, bare_losses, rtol=0, atol=0)
    torch.testing.assert_close(weights, bare_weights, rtol=0, atol=0)
    assert guard.happenings == ()
    assert recorded(tmp_path, "loss") == pytest.approx([loss.item() for loss in losses])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("fused", [None, True])
def test_a_nan_batch_never_reaches_the_weights(precision: str, fused: bool | None, tmp_path: Path) -> None:
    _, weights, guard = train(precision, guarded=tmp_path, bad=4, fused=fused)
    assert all(weight.isfinite().all() for weight in weights)
    assert recorded(tmp_path, "skipped") == [float(step == 4) for step in range(STEPS)]
    assert {Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS} & {one.kind for one in guard.happenings}


def test_the_scaler_of_the_precision_plugin_is_watched(tmp_path: Path) -> None:
    train("fp16", guarded=tmp_path)
    assert recorded(tmp_path, "loss_scale") == [2.0**10] * STEPS


def test_guard_stops_the_loop(tmp_path: Path) -> None:
    with pytest.raises(GuardStopped, match="loss"):
        train(guarded=tmp_path, thresholds={"loss": Threshold(stop_above=0.0)})
