"""Guard in Lightning, with the real Trainer on a CPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.optim import SGD, AdamW, Optimizer
from torch.utils.data import DataLoader

from stethoscope.guard.happening import Kind
from stethoscope.guard.policy import Policy, Threshold

from .recorded import announced, recorded

pytest.importorskip("lightning.pytorch")

import lightning.pytorch as lp
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins import MixedPrecision

from stethoscope.integrations.lightning import GuardCallback

# Lightning warns of loaders without workers, of steps that the scaler skipped, and of much else.
pytestmark = pytest.mark.filterwarnings("ignore")

BATCHES = 8
ROWS = 4
MakeOptimizer = Callable[[Iterator[nn.Parameter]], Optimizer]


def plain(parameters: Iterator[nn.Parameter]) -> Optimizer:
    return AdamW(parameters, lr=1e-2, foreach=False)


def foreach(parameters: Iterator[nn.Parameter]) -> Optimizer:
    return AdamW(parameters, lr=1e-2, foreach=True)


def fused(parameters: Iterator[nn.Parameter]) -> Optimizer:
    return AdamW(parameters, lr=1e-2, fused=True)


def batches(bad: int | None = None) -> DataLoader[Any]:
    """Eight batches of four samples, with their ids; all samples of a bad one are NaN."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(BATCHES * ROWS, 6, generator=generator)
    if bad is not None:
        x[bad * ROWS : (bad + 1) * ROWS] = torch.nan
    rows = [{"x": one, "y": one.sum().nan_to_num()[None], "id": f"sample-{at}"} for at, one in enumerate(x)]
    return DataLoader(rows, batch_size=ROWS)


class Regression(lp.LightningModule):
    """A small network with dropout, so that any use of random numbers would show."""

    def __init__(self, make_optimizer: MakeOptimizer = plain) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 1))
        self.make_optimizer = make_optimizer
        self.losses: list[Tensor] = []

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        loss = mse_loss(self.net(batch["x"]), batch["y"])
        self.losses.append(loss.detach().clone())
        return loss

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(self.parameters())
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Alternating(lp.LightningModule):
    """Two networks with an optimizer each, stepped by hand."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.automatic_optimization = False
        self.net = nn.Linear(6, 1)
        self.critic = nn.Linear(1, 1)
        self.losses: list[Tensor] = []

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> None:
        first, second = self.optimizers()
        loss = mse_loss(self.net(batch["x"]), batch["y"])
        first.zero_grad()
        self.manual_backward(loss)
        first.step()
        other = mse_loss(self.critic(self.net(batch["x"]).detach()), batch["y"])
        second.zero_grad()
        self.manual_backward(other)
        second.step()
        self.losses += [loss.detach(), other.detach()]

    def configure_optimizers(self) -> list[Optimizer]:
        return [AdamW(self.net.parameters(), lr=1e-2), SGD(self.critic.parameters(), lr=1e-2)]


def half(init_scale: float = 2.0**10) -> MixedPrecision:
    return MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu", init_scale=init_scale))


def trainer(folder: Path, *callbacks: Any, **options: Any) -> Any:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    usual = {
        "max_epochs": 2,
        "accelerator": "cpu",
        "enable_checkpointing": False,
        "num_sanity_val_steps": 0,
        "default_root_dir": folder,
        "callbacks": list(callbacks),
    }
    return lp.Trainer(**{**quiet, **usual, **options})


def fit(
    folder: Path, model: Any, loader: Any, *callbacks: Any, resume: Path | None = None, **options: Any
) -> None:
    """Train from the same random numbers every time."""
    torch.manual_seed(0)
    trainer(folder, *callbacks, **options).fit(model, loader, ckpt_path=resume)


def weights(module: nn.Module) -> list[Tensor]:
    return [tensor.detach().clone() for tensor in module.state_dict().values()]


def kinds(callback: GuardCallback) -> set[Kind]:
    assert callback.guard is not None
    assert callback.guard.failure is None
    return {happening.kind for happening in callback.guard.happenings}


SETTINGS: dict[str, Callable[[], dict[str, Any]]] = {
    "fp32": dict,
    "bf16": lambda: {"precision": "bf16-mixed"},
    "fp16": lambda: {"plugins": [half()]},
    "fp16, clipped": lambda: {"plugins": [half()], "gradient_clip_val": 0.5},
    "accumulated": lambda: {"accumulate_grad_batches": 3},
    "clipped by norm": lambda: {"gradient_clip_val": 0.5},
    "clipped by value": lambda: {"gradient_clip_val": 0.1, "gradient_clip_algorithm": "value"},
}
OPTIMIZERS = pytest.mark.parametrize("make_optimizer", [plain, foreach, fused])


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_healthy_run_is_the_same_to_the_bit(setting: str, tmp_path: Path) -> None:
    bare, guarded = Regression(), Regression()
    fit(tmp_path / "bare", bare, batches(), **SETTINGS[setting]())
    callback = GuardCallback()
    fit(tmp_path / "guarded", guarded, batches(), callback, **SETTINGS[setting]())
    torch.testing.assert_close(guarded.losses, bare.losses, rtol=0, atol=0)
    torch.testing.assert_close(weights(guarded), weights(bare), rtol=0, atol=0)
    assert kinds(callback) == set()


@OPTIMIZERS
def test_a_healthy_run_is_the_same_to_the_bit_with_each_kind_of_optimizer(
    make_optimizer: MakeOptimizer, tmp_path: Path
) -> None:
    bare, guarded = Regression(make_optimizer), Regression(make_optimizer)
    fit(tmp_path / "bare", bare, batches())
    fit(tmp_path / "guarded", guarded, batches(), GuardCallback())
    torch.testing.assert_close(guarded.losses, bare.losses, rtol=0, atol=0)
    torch.testing.assert_close(weights(guarded), weights(bare), rtol=0, atol=0)


def test_two_optimizers_that_are_stepped_by_hand_are_the_same_to_the_bit(tmp_path: Path) -> None:
    bare, guarded = Alternating(), Alternating()
    fit(tmp_path / "bare", bare, batches())
    callback = GuardCallback()
    fit(tmp_path / "guarded", guarded, batches(), callback)
    torch.testing.assert_close(guarded.losses, bare.losses, rtol=0, atol=0)
    torch.testing.assert_close(weights(guarded), weights(bare), rtol=0, atol=0)
    assert callback.guard is not None
    assert callback.guard.step == 2 * BATCHES
    assert len(recorded(tmp_path / "guarded", "grad_norm/1")) == 2 * BATCHES


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_nan_batch_never_reaches_the_weights(setting: str, tmp_path: Path) -> None:
    model, callback = Regression(), GuardCallback()
    fit(tmp_path, model, batches(bad=3), callback, **SETTINGS[setting]())
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert len(model.losses) == 2 * BATCHES
    assert kinds(callback) & {Kind.NON_FINITE_INPUT, Kind.NON_FINITE_LOSS, Kind.NON_FINITE_GRADIENT}


@OPTIMIZERS
def test_a_nan_batch_never_reaches_the_weights_of_any_optimizer(
    make_optimizer: MakeOptimizer, tmp_path: Path
) -> None:
    model, callback = Regression(make_optimizer), GuardCallback()
    fit(tmp_path, model, batches(bad=3), callback)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert recorded(tmp_path, "skipped") == [float(step % BATCHES == 3) for step in range(2 * BATCHES)]


def test_a_nan_batch_is_kept_from_two_optimizers(tmp_path: Path) -> None:
    model, callback = Alternating(), GuardCallback()
    fit(tmp_path, model, batches(bad=3), callback)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert Kind.NON_FINITE_INPUT in kinds(callback)


def test_observing_leaves_the_weights_to_their_fate(tmp_path: Path) -> None:
    model, callback = Regression(), GuardCallback(mode="observe")
    fit(tmp_path, model, batches(bad=3), callback)
    assert not all(parameter.isfinite().all() for parameter in model.parameters())
    assert Kind.NON_FINITE_INPUT in kinds(callback)


def test_losses_are_recorded_as_the_module_computed_them(tmp_path: Path) -> None:
    model = Regression()
    fit(tmp_path, model, batches(), GuardCallback(), plugins=[half()], accumulate_grad_batches=2)
    means = [
        (first + second) / 2 for first, second in zip(model.losses[::2], model.losses[1::2], strict=True)
    ]
    assert recorded(tmp_path, "loss") == pytest.approx([mean.item() for mean in means], rel=1e-6)
    assert recorded(tmp_path, "loss_scale") == [2.0**10] * BATCHES


def test_the_gradient_norm_is_the_one_before_clipping(tmp_path: Path) -> None:
    class Listening(Regression):
        def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
            norms.append(torch.nn.utils.get_total_norm([p.grad for p in self.parameters()]).item())

    norms: list[float] = []
    fit(tmp_path, Listening(), batches(), GuardCallback(), gradient_clip_val=0.01)
    assert min(norms) > 0.01
    assert recorded(tmp_path, "grad_norm") == pytest.approx(norms)


def test_the_record_says_how_many_steps_there_are_to_be(tmp_path: Path) -> None:
    fit(tmp_path, Regression(), batches(), GuardCallback(), accumulate_grad_batches=3)
    assert announced(tmp_path) == len(recorded(tmp_path, "loss"))


def test_waits_for_data_and_parts_of_the_loss_are_recorded(tmp_path: Path) -> None:
    class InParts(Regression):
        def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
            loss = super().training_step(batch, batch_idx)
            self.loss_parts = {"half": loss.detach() / 2}
            return loss

    fit(tmp_path, InParts(), batches(), GuardCallback())
    assert min(recorded(tmp_path, "data_time")) > 0
    losses = recorded(tmp_path, "loss")
    assert recorded(tmp_path, "loss/half") == pytest.approx([loss / 2 for loss in losses])


def test_guard_stops_the_training(tmp_path: Path) -> None:
    model = Regression()
    callback = GuardCallback(policy=Policy(most_in_a_row=1, most_share=1.0))
    loader = batches()
    for row in loader.dataset[3 * ROWS :]:
        row["x"].fill_(torch.nan)
    fit(tmp_path, model, loader, callback)
    assert len(model.losses) == 5
    assert Kind.STOPPED in kinds(callback)


def test_a_threshold_stops_the_training_before_the_least_number_of_steps(tmp_path: Path) -> None:
    from stethoscope.errors import GuardStopped

    callback = GuardCallback(thresholds={"loss": Threshold(stop_above=0.0)})
    with pytest.raises(GuardStopped, match="loss"):
        trainer(tmp_path, callback, min_steps=10).fit(Regression(), batches())


def test_what_was_learned_survives_a_resume(tmp_path: Path) -> None:
    saved = tmp_path / "half-way.ckpt"
    first = GuardCallback()
    before = trainer(tmp_path / "first", first, max_epochs=1)
    before.fit(Regression(), batches())
    before.save_checkpoint(saved)
    second = GuardCallback()
    fit(tmp_path / "second", Regression(), batches(), second, resume=saved)
    assert first.guard is not None
    assert second.guard is not None
    assert first.guard.step == BATCHES
    assert second.guard.step == 2 * BATCHES
    whole = GuardCallback()
    fit(tmp_path / "whole", Regression(), batches(), whole)
    assert whole.guard is not None
    assert second.guard.state_dict().keys() == whole.guard.state_dict().keys()


class Poisoned(Regression):
    """Weights that are destroyed behind the optimizer's back, as by a cosmic ray."""

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.global_step == 8:
            with torch.no_grad():
                self.net[0].weight[0, 0] = torch.inf


@pytest.mark.parametrize("options", [{}, {"save_last": True}, {"filename": "same"}])
def test_a_bad_checkpoint_takes_no_place_of_a_good_one(options: dict[str, Any], tmp_path: Path) -> None:
    keeper = ModelCheckpoint(tmp_path / "kept", every_n_train_steps=6, **options)
    callback = GuardCallback()
    fit(tmp_path, Poisoned(), batches(), callback, keeper, enable_checkpointing=True)
    kept = list((tmp_path / "kept").iterdir())
    assert kept
    for path in kept:
        state = torch.load(path, weights_only=True)["state_dict"]
        assert all(tensor.isfinite().all() for tensor in state.values())
    assert Kind.BAD_CHECKPOINT in kinds(callback)


def test_the_trainer_is_left_as_it_was(tmp_path: Path) -> None:
    one = trainer(tmp_path, GuardCallback())
    writes = one.strategy.checkpoint_io
    one.fit(Regression(), batches())
    assert one.strategy.checkpoint_io is writes
    assert "start" not in vars(one.profiler)
    assert not one.optimizers[0]._optimizer_step_pre_hooks


def test_a_training_that_fails_ends_its_record(tmp_path: Path) -> None:
    class Failing(Regression):
        def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
            if batch_idx == 3:
                raise RuntimeError("no such batch")
            return super().training_step(batch, batch_idx)

    one = trainer(tmp_path, GuardCallback())
    with pytest.raises(RuntimeError, match="no such batch"):
        one.fit(Failing(), batches())
    assert len(recorded(tmp_path, "loss")) == 3
    assert not one.optimizers[0]._optimizer_step_pre_hooks


def test_a_bad_batch_is_named_by_its_samples(tmp_path: Path) -> None:
    callback = GuardCallback()
    fit(tmp_path, Regression(), batches(bad=3), callback, max_epochs=1)
    assert callback.guard is not None
    told = " ".join(str(happening.facts) + happening.text() for happening in callback.guard.happenings)
    assert "sample-12" in told


def test_a_trainer_of_pytorch_lightning_takes_the_callback(tmp_path: Path) -> None:
    pl = pytest.importorskip("pytorch_lightning")

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(6, 1)

        def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
            return mse_loss(self.net(batch["x"]), batch["y"])

        def configure_optimizers(self) -> Optimizer:
            return SGD(self.parameters(), lr=1e-2)

    callback = GuardCallback()
    one = pl.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
        callbacks=[callback],
    )
    model = Module()
    one.fit(model, batches(bad=3))
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert Kind.NON_FINITE_INPUT in kinds(callback)


def test_nan_on_one_of_two_ranks_is_kept_from_both(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TWO_RANKS)
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (torch.load(tmp_path / f"rank{rank}.pt", weights_only=True) for rank in (0, 1))
    assert (first["bad"], second["bad"]) == (0, 2)
    assert first["steps"] == second["steps"] == 40
    assert first["applied"] == second["applied"] == 38
    torch.testing.assert_close(first["weights"], second["weights"], rtol=0, atol=0)
    assert all(tensor.isfinite().all() for tensor in first["weights"])


TWO_RANKS = """
import os
import sys
from pathlib import Path

import lightning as lp
import torch
from torch import nn
from torch.utils.data import DataLoader

from stethoscope.integrations.lightning import GuardCallback

FOLDER = Path(sys.argv[1])
bad = []


class Module(lp.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))

    def training_step(self, batch, batch_idx):
        if not batch["x"].isfinite().all():
            bad.append(batch_idx)
        return (self.net(batch["x"]) - batch["y"]).square().mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main():
    torch.set_num_threads(1)
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.manual_seed(1 + rank)
    rows = [{"x": torch.randn(6), "y": torch.ones(1)} for _ in range(80)]
    if rank == 1:
        for at in (10, 50):
            rows[at]["x"].fill_(torch.nan)
    callback = GuardCallback()
    trainer = lp.Trainer(
        max_epochs=1, accelerator="cpu", devices=2, strategy="ddp", use_distributed_sampler=False,
        default_root_dir=FOLDER, callbacks=[callback],
        logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )
    model = Module()
    trainer.fit(model, DataLoader(rows, batch_size=2, shuffle=False))
    guard = callback.guard
    assert guard.failure is None, guard.failure
    weights = [tensor.detach() for tensor in model.state_dict().values()]
    (applied,) = {int(one["step"]) for one in trainer.optimizers[0].state.values()}
    state = {"weights": weights, "steps": guard.step, "applied": applied, "bad": len(bad)}
    torch.save(state, FOLDER / f"rank{trainer.global_rank}.pt")


main()
"""
