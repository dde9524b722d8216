"""Guard in the Trainer of transformers, on a CPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.data import SequentialSampler

from stethoscope.guard.happening import Kind
from stethoscope.guard.policy import Policy

from .recorded import announced, recorded

pytest.importorskip("transformers")

from accelerate import Accelerator
from transformers import Trainer, TrainerCallback, TrainingArguments

from stethoscope.integrations.transformers import GuardCallback

# The Trainer warns of pinned memory, of a missing tokenizer, and of much else.
pytestmark = pytest.mark.filterwarnings("ignore")

STEPS = 8
ROWS = 4


class Regression(nn.Module):
    """A small network with dropout, so that any use of random numbers would show."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        # The last layer has no bias, so that the optimizer, which puts biases last, has an order of its own.
        last = nn.Linear(16, 1, bias=False)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.Dropout(0.2), last)
        self.losses: list[Tensor] = []

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        loss = mse_loss(self.net(x), labels)
        self.losses.append(loss.detach().clone())
        return {"loss": loss}


class InOrder(Trainer):
    """A Trainer that takes its samples in their order."""

    def _get_train_sampler(self, *args: Any) -> Any:
        return SequentialSampler(self.train_dataset)


def samples(batches: int = STEPS, bad: int | None = None) -> list[dict[str, Tensor]]:
    x = torch.randn(batches * ROWS, 6, generator=torch.Generator().manual_seed(1))
    labels = x.sum(1, keepdim=True)
    if bad is not None:
        x[bad * ROWS, 0] = torch.nan
    return [{"x": one, "labels": label} for one, label in zip(x, labels, strict=True)]


def fit(
    folder: Path,
    model: nn.Module,
    data: list[dict[str, Tensor]],
    *callbacks: TrainerCallback,
    resume: Path | None = None,
    kind: type[Trainer] = InOrder,
    **options: Any,
) -> Trainer:
    """Train from the same random numbers every time."""
    usual = {
        "per_device_train_batch_size": ROWS,
        "num_train_epochs": 1,
        "learning_rate": 1e-2,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 0,
    }
    args = TrainingArguments(output_dir=str(folder), **{**usual, **options})
    trainer = kind(model, args, train_dataset=data, callbacks=list(callbacks))
    trainer.train(resume_from_checkpoint=str(resume) if resume is not None else None)
    return trainer


def kinds(callback: GuardCallback) -> set[Kind]:
    assert callback.guard is not None
    assert callback.guard.failure is None
    return {happening.kind for happening in callback.guard.happenings}


SETTINGS: dict[str, dict[str, Any]] = {
    "fp32": {},
    "bf16": {"bf16": True},
    "accumulated": {"gradient_accumulation_steps": 3, "per_device_train_batch_size": 2},
    "not clipped": {"max_grad_norm": 0.0},
    "fused": {"optim": "adamw_torch_fused"},
    "plain": {"optim": "sgd"},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_healthy_run_is_the_same_to_the_bit(setting: str, tmp_path: Path) -> None:
    bare, guarded, callback = Regression(), Regression(), GuardCallback()
    fit(tmp_path / "bare", bare, samples(), **SETTINGS[setting])
    fit(tmp_path / "guarded", guarded, samples(), callback, **SETTINGS[setting])
    torch.testing.assert_close(guarded.losses, bare.losses, rtol=0, atol=0)
    torch.testing.assert_close(guarded.state_dict(), bare.state_dict(), rtol=0, atol=0)
    assert kinds(callback) == set()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_nan_batch_never_reaches_the_weights(setting: str, tmp_path: Path) -> None:
    model, callback = Regression(), GuardCallback()
    trainer = fit(tmp_path, model, samples(bad=3), callback, **SETTINGS[setting])
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert sum(recorded(tmp_path, "skipped")) == 1.0
    assert len(recorded(tmp_path, "loss")) == trainer.state.global_step
    assert kinds(callback) & {Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS, Kind.NON_FINITE_GRADIENT}


@pytest.mark.parametrize("init_scale", [2.0**10, 2.0**100])
def test_the_scaler_of_the_trainer_is_watched(init_scale: float, tmp_path: Path) -> None:
    class Scaled(InOrder):
        """Accelerate makes a scaler for GPUs only, so one for the CPU is put in its place."""

        def create_accelerator_and_postprocess(self) -> None:
            super().create_accelerator_and_postprocess()
            self.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)

    model, callback = Regression(), GuardCallback()
    fit(tmp_path, model, samples(bad=3), callback, kind=Scaled)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert recorded(tmp_path, "loss_scale")[0] in (init_scale, init_scale / 2)
    assert recorded(tmp_path, "skipped")[3] == 1.0


def test_the_loss_of_a_step_is_the_one_the_trainer_logs(tmp_path: Path) -> None:
    trainer = fit(
        tmp_path,
        Regression(),
        samples(),
        GuardCallback(),
        gradient_accumulation_steps=3,
        per_device_train_batch_size=2,
        logging_steps=1,
    )
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert recorded(tmp_path, "loss") == pytest.approx(logged, rel=1e-5)


def test_the_loss_of_a_trainer_with_a_way_of_its_own_is_heard(tmp_path: Path) -> None:
    class Doubling(InOrder):
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
            return 2 * super().compute_loss(model, inputs)

    model = Regression()
    fit(tmp_path, model, samples(), GuardCallback(), kind=Doubling)
    assert recorded(tmp_path, "loss") == pytest.approx([2 * loss.item() for loss in model.losses])


def test_the_gradient_norm_is_the_one_before_clipping(tmp_path: Path) -> None:
    trainer = fit(tmp_path, Regression(), samples(), GuardCallback(), logging_steps=1, max_grad_norm=0.01)
    logged = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
    assert min(logged) > 0.01
    assert recorded(tmp_path, "grad_norm") == pytest.approx(logged)


def test_the_record_says_how_many_steps_there_are_to_be(tmp_path: Path) -> None:
    fit(tmp_path, Regression(), samples(), GuardCallback())
    assert announced(tmp_path) == STEPS


def test_waits_for_data_are_recorded(tmp_path: Path) -> None:
    fit(tmp_path, Regression(), samples(), GuardCallback())
    assert min(recorded(tmp_path, "data_time")) > 0


def test_guard_stops_the_training(tmp_path: Path) -> None:
    data = samples()
    for row in data[3 * ROWS :]:
        row["x"].fill_(torch.nan)
    callback = GuardCallback(policy=Policy(most_in_a_row=1, most_share=1.0))
    trainer = fit(tmp_path, Regression(), data, callback)
    assert trainer.state.global_step == 5
    assert Kind.STOPPED in kinds(callback)


class Poison(TrainerCallback):
    """Destroys a weight behind the optimizer's back, as a cosmic ray would."""

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **parts: Any) -> None:
        if state.global_step == 4:
            with torch.no_grad():
                model.net[0].weight[0, 0] = torch.inf


@pytest.mark.parametrize("mode", ["protect", "observe"])
def test_a_bad_checkpoint_takes_no_place_of_a_good_one(mode: str, tmp_path: Path) -> None:
    callback = GuardCallback(mode=mode)
    saving = {"save_strategy": "steps", "save_steps": 2, "save_total_limit": 1}
    fit(tmp_path, Regression(), samples(), Poison(), callback, **saving)
    kept = [path.name for path in tmp_path.glob("checkpoint-*")]
    assert kept == (["checkpoint-4"] if mode == "protect" else ["checkpoint-8"])
    assert Kind.BAD_CHECKPOINT in kinds(callback)


@pytest.mark.parametrize("is_restored", [False, True])
def test_what_was_learned_survives_a_resume(is_restored: bool, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 4}
    restoring = {**saving, "restore_callback_states_from_checkpoint": is_restored}
    fit(tmp_path / "first", Regression(), samples(), GuardCallback(), **saving)
    saved = tmp_path / "first" / "checkpoint-4"
    learned = json.loads((saved / "trainer_state.json").read_text())["stateful_callbacks"]["GuardCallback"]
    assert learned["attributes"]["learned"]["step"] == 4
    trainer = fit(
        tmp_path / "second", Regression(), samples(), GuardCallback(mode="observe"), resume=saved, **restoring
    )
    (callback,) = (one for one in trainer.callback_handler.callbacks if isinstance(one, GuardCallback))
    assert callback.guard is not None
    assert callback.guard.step == STEPS
    assert callback.guard.policy.mode == ("protect" if is_restored else "observe")


def test_the_accelerator_is_left_as_it_was(tmp_path: Path) -> None:
    backward: Callable[..., Any] = Accelerator.backward
    trainer = fit(tmp_path, Regression(), samples(), GuardCallback())
    assert Accelerator.backward is backward
    assert not trainer.optimizer.optimizer._optimizer_step_pre_hooks


def test_a_training_that_failed_leaves_the_next_one_alone(tmp_path: Path) -> None:
    class Failing(Regression):
        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            if len(self.losses) == 3:
                raise RuntimeError("no such batch")
            return super().forward(x, labels)

    backward: Callable[..., Any] = Accelerator.backward
    callback = GuardCallback()
    with pytest.raises(RuntimeError, match="no such batch"):
        fit(tmp_path / "failed", Failing(), samples(), callback)
    fit(tmp_path / "next", Regression(), samples(), callback)
    assert Accelerator.backward is backward
    assert len(recorded(tmp_path / "failed", "loss")) == 3
    assert len(recorded(tmp_path / "next", "loss")) == STEPS
    assert callback.guard is not None
    assert callback.guard.step == STEPS
