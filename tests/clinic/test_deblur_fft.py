"""A deblurring project whose norm and gate overflow in half, and whose resume forgets the optimizer."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")

from stethoscope.clinic.cases.deblur_fft import cure  # noqa: E402
from stethoscope.clinic.cases.deblur_fft.case import CASE  # noqa: E402
from stethoscope.clinic.cases.deblur_fft.deblur import (  # noqa: E402
    arch,
    checkpoint,
    data,
    losses,
    schedule,
    training,
)
from stethoscope.clinic.edit import apply  # noqa: E402
from tests.clinic.case_runs import change_of, cure_of, evaluate, judge, train  # noqa: E402
from tests.clinic.projects import EXAMPLES, imported, run  # noqa: E402

# Precision


def test_the_sick_norm_gives_zeros_where_the_variance_overflows_in_half() -> None:
    x = half_pixels(spread=2000.0)
    assert float(arch.LayerNorm(12)(x).detach().abs().max()) == 0.0
    assert float(arch.LayerNorm(12)(x.float()).detach().abs().max()) > 1.0


def test_the_cured_norm_does_not_overflow(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.CURE)
    x = half_pixels(spread=2000.0)
    with imported(tmp_path, "deblur.arch") as (cured_arch,):
        assert torch.allclose(cured_arch.LayerNorm(12)(x), arch.LayerNorm(12)(x.float()))


def test_the_gated_product_overflows_in_half_and_not_in_bfloat16() -> None:
    x = torch.full((4,), 300.0)
    gated = {dtype: torch.nn.functional.gelu(x.to(dtype)) * x.to(dtype) for dtype in HALVES}
    assert torch.isinf(gated[torch.float16]).all()
    assert torch.isfinite(gated[torch.bfloat16]).all()


# The objective


def test_the_sick_frequency_loss_doubles_with_the_side_and_the_cured_one_does_not(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.CURE)
    torch.manual_seed(0)
    small, large = (0.02 * torch.randn(8, 3, side, side) for side in (32, 64))
    sick = losses.FFTLoss()
    assert growth(sick, small, large) == pytest.approx(2.0, rel=0.05)
    with imported(tmp_path, "deblur.losses") as (cured_losses,):
        cured = cured_losses.FFTLoss()
        assert growth(cured, small, large) == pytest.approx(1.0, rel=0.05)
        zero = torch.zeros_like(small)
        # The cured weight keeps what the term weighed in the crops.
        assert 3.2 * float(cured(small, zero)) == pytest.approx(0.1 * float(sick(small, zero)), rel=1e-4)


def test_the_written_advice_fits_and_leaves_nothing_of_the_frequency_loss(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.WRITTEN_ADVICE)
    error = 0.02 * torch.randn(8, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    zero = torch.zeros_like(error)
    with imported(tmp_path, "deblur.losses") as (advised,):
        share = 0.1 * float(advised.FFTLoss()(error, zero)) / float(error.abs().mean())
    assert share < 0.002


def test_the_transform_was_in_float_all_along(tmp_path: Path) -> None:
    """The advice about the transform changes no number."""
    moved = cure.WRITTEN_ADVICE[-1]
    cure.copy_project(tmp_path)
    file = tmp_path / moved.file
    file.write_text(apply(moved, file.read_text()))
    torch.manual_seed(0)
    sick, x = arch.DFFN(4, 2, 8), torch.randn(1, 4, 16, 16)
    with imported(tmp_path, "deblur.arch") as (advised_arch,), torch.autocast("cpu"):
        advised = advised_arch.DFFN(4, 2, 8)
        advised.load_state_dict(sick.state_dict())
        assert torch.equal(advised(x), sick(x))


# Parts


def test_patches_come_back_as_they_were() -> None:
    x = torch.randn(2, 3, 16, 24)
    assert torch.equal(arch.from_patches(arch.to_patches(x, 8)), x)
    assert torch.equal(arch.to_patches(x, 8)[1, 2, 1, 2], x[1, 2, 8:16, 16:24])


def test_pairs_are_the_same_for_the_same_seed_and_blurred() -> None:
    blurred, sharp = data.draw_pair(3, 32)
    assert torch.equal(blurred, data.draw_pair(3, 32)[0])
    assert float((blurred - sharp).abs().mean()) > 0.005
    assert 0 <= float(blurred.min()) <= float(blurred.max()) <= 1


# Training, at reduced size


def test_a_training_is_deterministic(tmp_path: Path) -> None:
    first, second = (trained(tmp_path / name) for name in ("first", "second"))
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_sick_resume_forgets_the_optimizer(tmp_path: Path) -> None:
    finished = trained(tmp_path / "first")
    assert len(finished.optimizer.state) > 0
    (weights,) = sorted((tmp_path / "first").glob("best_model_epoch1.pt"))
    going_on = patient(tmp_path / "second")
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        checkpoint.resume(str(weights), 2, going_on.model, going_on.scheduler)
    assert len(going_on.optimizer.state) == 0
    assert going_on.scheduler.last_epoch == 1


def test_the_cured_project_runs_in_two_sessions_under_hydra(tmp_path: Path) -> None:
    pytest.importorskip("hydra")
    cure.copy_project(tmp_path, cure.CURE)
    small = ["dataset.train_images=2", "dataset.val_images=1", "dataset.crops_per_epoch=16", "train.epochs=4"]
    command = ["python", "-W", "ignore", "train.py", "device=cpu", "hydra.run.dir=run", *small]
    command.append("train.session_epochs=2")
    run(command, tmp_path)
    run([*command, "train.last_checkpoint=run/checkpoints/last.pt"], tmp_path)
    log = (tmp_path / "run" / "train.log").read_text()
    assert re.findall(r"Epoch (\d+):", log) == ["1", "2", "3", "4"]


# The case, in its smallest size


def test_sick_and_cured_are_trained_in_sessions_and_judged(tmp_path: Path) -> None:
    pytest.importorskip("hydra")
    for name, edits in (("sick", ()), ("cured", cure_of(CASE))):
        finished = train(CASE, edits, 3, tmp_path / name)
        log = (finished / "train.log").read_text()
        assert "Resumed from" in log
        assert re.findall(r"Epoch (\d+):", log) == ["1", "2"]
        assert yaml.safe_load((finished / ".hydra" / "config.yaml").read_text())["seed"] == 3
        assert (finished / "checkpoints" / "last.pt").exists() == (name == "cured")
        score = (evaluate if name == "sick" else judge)(CASE, finished, tmp_path / "judge")
        assert 5 < score["val_psnr"] < 24


def test_the_judge_gives_blurred_images_their_own_score(tmp_path: Path) -> None:
    model = arch.FFTMini(4, 3, 2, 8)
    for parameter in model.leave.parameters():
        torch.nn.init.zeros_(parameter)
    (tmp_path / "checkpoints").mkdir()
    torch.save(model.state_dict(), tmp_path / "checkpoints" / "best_model_epoch2.pt")
    scores = judge(CASE, tmp_path, tmp_path / "judge")
    assert scores["val_psnr"] == scores["blurred"] == pytest.approx(CASE.metric.bar, abs=0.01)
    # The score by hand, of the first of the images.
    blurred, sharp = data.draw_pair(9_000, 64)
    by_hand = 10 * math.log10(1 / float((blurred - sharp).square().mean()))
    assert float(training.psnr(blurred[None], sharp[None])) == pytest.approx(by_hand, rel=1e-5)


def test_the_judge_shows_black_what_is_not_a_number(tmp_path: Path) -> None:
    model = arch.FFTMini(4, 1, 2, 8)
    torch.nn.init.constant_(model.leave.bias, float("nan"))
    (tmp_path / "checkpoints").mkdir()
    torch.save(model.state_dict(), tmp_path / "checkpoints" / "best_model_epoch1.pt")
    assert 0 < judge(CASE, tmp_path, tmp_path / "judge")["val_psnr"] < 10


@pytest.mark.parametrize(("change", "blocks", "channels"), [("fewer-blocks", 1, 4), ("fewer-channels", 2, 2)])
def test_a_smaller_network_is_built_smaller(change: str, blocks: int, channels: int, tmp_path: Path) -> None:
    cure.copy_project(tmp_path, change_of(CASE, change))
    with imported(tmp_path, "deblur.arch") as (smaller,):
        model = smaller.FFTMini(4, 2, 2, 8)
        assert len(model.blocks) == blocks
        assert model.leave.in_channels == channels
        assert model(torch.zeros(1, 3, 8, 8))["sharp_image"].shape == (1, 3, 8, 8)


# The recorded runs


def test_the_recorded_settings_say_where_the_last_session_went_on() -> None:
    sick = recorded("deblur-fft", ".hydra/overrides.yaml")
    assert re.search(r"train\.last_checkpoint=outputs/run/checkpoints/best_model_epoch\d+\.pt", sick)
    cured = recorded("deblur-fft-cured", ".hydra/overrides.yaml")
    assert "train.last_checkpoint=outputs/run/checkpoints/last.pt" in cured
    assert yaml.safe_load(recorded("deblur-fft", ".hydra/config.yaml"))["device"] == "cpu"


def test_the_cured_run_ends_better_than_the_sick_one() -> None:
    sick, cured = (epochs(example)[-1] for example in ("deblur-fft", "deblur-fft-cured"))
    assert sick["epoch"] == cured["epoch"] == 16
    assert cured["val_psnr"] > sick["val_psnr"]


def test_the_sick_run_loses_ground_at_every_resume() -> None:
    sick, cured = epochs("deblur-fft"), epochs("deblur-fft-cured")
    assert [epoch["epoch"] for epoch in sick] == [epoch["epoch"] for epoch in cured] == list(range(1, 17))
    for first_of_session in (5, 9, 13):
        index = first_of_session - 1
        assert sick[index]["train_loss"] > 1.01 * cured[index]["train_loss"]
    assert sick[4]["train_loss"] > sick[3]["train_loss"]
    assert cured[4]["train_loss"] < cured[3]["train_loss"]


def test_only_the_sick_losses_contradict_the_scores() -> None:
    """Validation images score higher than crops; a loss that grows with the image says the opposite."""
    for example, contradicts in (("deblur-fft", True), ("deblur-fft-cured", False)):
        for epoch in epochs(example)[2:]:
            assert epoch["val_psnr"] > epoch["train_psnr"]
            assert (epoch["val_loss"] > epoch["train_loss"]) == contradicts


HALVES = (torch.float16, torch.bfloat16)


def half_pixels(spread: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (spread * torch.randn(1, 12, 4, 4, generator=generator)).half()


def growth(loss: torch.nn.Module, small: torch.Tensor, large: torch.Tensor) -> float:
    """How much more the loss makes of errors of one size when the image is larger."""
    return float(loss(large, torch.zeros_like(large))) / float(loss(small, torch.zeros_like(small)))


def patient(folder: Path) -> training.Trainer:
    torch.manual_seed(0)
    model = arch.FFTMini(4, 1, 2, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return training.Trainer(
        model,
        losses.LossContainer({"sharp_image": losses.CombinedLoss(1.0, 0.1)}),
        optimizer,
        schedule.CosineAnnealingWarmupLR(optimizer, 1, 4, 1e-6, 1e-6),
        checkpoint.CheckpointManager(folder),
        torch.device("cpu"),
        0.5,
    )


def trained(folder: Path) -> training.Trainer:
    """Train two epochs of two batches."""
    trainer = patient(folder)
    crops = data.RandomCrops(data.DrawnPairs(2, 32, 0), 16, 4, 0)
    val_loader = torch.utils.data.DataLoader(data.DrawnPairs(1, 32, 9), batch_size=1)
    trainer.fit(crops, 2, val_loader, range(1, 3))
    return trainer


def epochs(example: str) -> list[dict[str, float]]:
    lines = re.findall(r"Epoch (\d+): (.*)", recorded(example, "train.log"))
    return [
        {"epoch": float(epoch)}
        | {name: float(value) for name, value in re.findall(r"(\w+)=([\d.e+-]+)", rest)}
        for epoch, rest in lines
    ]


def recorded(example: str, name: str) -> str:
    return (EXAMPLES / example / name).read_text(encoding="utf-8")
