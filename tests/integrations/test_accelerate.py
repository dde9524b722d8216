"""Guard in an Accelerate loop, on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader

from stethoscope.errors import GuardStopped
from stethoscope.guard.happening import Kind
from stethoscope.guard.policy import Threshold

from .recorded import recorded

pytest.importorskip("accelerate")

import accelerate

from stethoscope.integrations.accelerate import guard_accelerate

pytestmark = pytest.mark.filterwarnings("ignore")

BATCHES = 12


def accelerator(folder: Path, precision: str, accumulated: int) -> Any:
    """An accelerator on the CPU; it makes a scaler for GPUs only, so one for the CPU is put in its place."""
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()
    one = accelerate.Accelerator(
        cpu=True,
        mixed_precision="bf16" if precision == "bf16" else "no",
        gradient_accumulation_steps=accumulated,
        project_dir=folder,
    )
    if precision == "fp16":
        one.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    return one


def train(
    folder: Path,
    precision: str = "fp32",
    accumulated: int = 1,
    *,
    is_guarded: bool = True,
    bad: int | None = None,
    fused: bool | None = None,
    resume: Path | None = None,
    save: Path | None = None,
    **options: Any,
) -> tuple[list[Tensor], list[Tensor], Any]:
    """The losses and weights of twelve batches, and the guard."""
    one = accelerator(folder, precision, accumulated)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.Linear(16, 1))
    data = torch.randn(BATCHES, 4, 6, generator=torch.Generator().manual_seed(1))
    if bad is not None:
        data[bad, 0, 0] = torch.nan
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, fused=fused)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
    model, optimizer, schedule, loader = one.prepare(
        net, optimizer, schedule, DataLoader(data, batch_size=None)
    )
    guard = None
    if is_guarded:
        guard = guard_accelerate(one, model, optimizer, schedule=schedule, **options)
        one.register_for_checkpointing(guard)
    if resume is not None:
        one.load_state(resume)
    losses = []
    for x in guard.batches(loader) if guard else loader:
        with one.accumulate(model):
            loss = mse_loss(model(x), x.sum(1, keepdim=True).nan_to_num())
            if guard:
                guard.loss(loss)
            one.backward(loss)
            if one.sync_gradients:
                one.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
    if guard:
        guard.close()
        assert guard.failure is None
    if save is not None:
        one.save_state(save)
    return losses, [parameter.detach() for parameter in net.parameters()], guard


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("accumulated", [1, 3])
def test_a_healthy_run_is_the_same_to_the_bit(precision: str, accumulated: int, tmp_path: Path) -> None:
    losses, weights, guard = train(tmp_path, precision, accumulated)
    bare_losses, bare_weights, _ = train(tmp_path, precision, accumulated, is_guarded=False)
    torch.testing.assert_close(losses, bare_losses, rtol=0, atol=0)
    torch.testing.assert_close(weights, bare_weights, rtol=0, atol=0)
    assert guard.happenings == ()
    assert guard.step == BATCHES / accumulated


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("fused", [None, True])
def test_a_nan_batch_never_reaches_the_weights(precision: str, fused: bool | None, tmp_path: Path) -> None:
    _, weights, guard = train(tmp_path, precision, accumulated=2, bad=4, fused=fused)
    assert all(weight.isfinite().all() for weight in weights)
    assert recorded(tmp_path, "skipped") == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert {Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS} & {one.kind for one in guard.happenings}


def test_the_loss_of_a_step_is_the_mean_of_its_batches(tmp_path: Path) -> None:
    losses, _, _ = train(tmp_path, "fp16", accumulated=3)
    means = torch.stack(losses).reshape(-1, 3).mean(1)
    assert recorded(tmp_path, "loss") == pytest.approx(means.tolist())
    assert recorded(tmp_path, "loss_scale") == [2.0**10] * 4


def test_what_was_learned_survives_a_resume(tmp_path: Path) -> None:
    train(tmp_path / "first", save=tmp_path / "saved")
    _, _, guard = train(tmp_path / "second", resume=tmp_path / "saved")
    assert guard.step == 2 * BATCHES


def test_guard_stops_the_loop(tmp_path: Path) -> None:
    with pytest.raises(GuardStopped, match="loss"):
        train(tmp_path, thresholds={"loss": Threshold(stop_above=0.0)})
