"""A deblurring project whose transforms overflow in half: the scale falls, and the weights stand still."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("hydra")

from stethoscope.clinic.cases.deblur_fft.deblur import data  # noqa: E402
from stethoscope.clinic.cases.deblur_fft_overflow import compare_half  # noqa: E402
from stethoscope.clinic.cases.deblur_fft_overflow.case import CASE  # noqa: E402
from stethoscope.clinic.cases.high_loss_scale.case import CASE as BENIGN  # noqa: E402
from tests.clinic.case_runs import change_of, copy_case, cure_of, evaluate, judge, train  # noqa: E402
from tests.clinic.projects import imported  # noqa: E402


def test_the_sick_run_falls_into_the_spiral_and_the_cured_one_beats_the_blurred_images(
    tmp_path: Path,
) -> None:
    finished = train(CASE, (), 0, tmp_path / "sick")
    epochs = logged(finished)
    scales = [epoch["loss_scale"] for epoch in epochs]
    assert [epoch["train_loss"] == epoch["train_loss"] for epoch in epochs[-5:]] == [False] * 5
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] < 1e-4
    sick = evaluate(CASE, finished, tmp_path / "judge")

    finished = train(CASE, cure_of(CASE), 0, tmp_path / "cured")
    assert min(epoch["loss_scale"] for epoch in logged(finished)) >= 1024
    cured = judge(CASE, finished, tmp_path / "judge")
    assert sick["val_psnr"] < CASE.metric.bar < cured["val_psnr"]
    assert sick["blurred"] == pytest.approx(CASE.metric.bar, abs=0.01)


def test_neither_the_scaler_nor_skipping_bad_batches_moves_a_weight(tmp_path: Path) -> None:
    """The scaler halves its scale at every batch; where bad batches are skipped it never hears of them."""
    for name, edits, scale in (
        ("sick", (), 65536 / 2**3),
        ("skipping", change_of(CASE, "skip-bad-batches"), 65536),
    ):
        copy_case(CASE, "ci", edits, tmp_path / name)
        with patient(tmp_path / name, gain=100.0) as (trainer, half):
            before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
            with half.emulated_half("cpu"):
                loss, _ = trainer.train_epoch(batches(3))
            assert math.isnan(loss)
            assert trainer.scaler.get_scale() == scale
            for parameter, kept in zip(trainer.model.parameters(), before, strict=True):
                assert torch.equal(parameter, kept)


def test_a_scale_climbs_in_steps_of_two_where_nothing_overflows(tmp_path: Path) -> None:
    copy_case(BENIGN, "ci", (), tmp_path)
    with patient(tmp_path, gain=1.0) as (trainer, half), half.emulated_half("cpu"):
        drawn = batches(20)
        for growths in (1, 2):
            assert math.isfinite(trainer.train_epoch(drawn)[0])
            assert trainer.scaler.get_scale() == 65536 * 2**growths


@pytest.mark.parametrize("change", ["transform-in-float", "orthonormal-transforms"])
def test_a_cure_keeps_finite_what_the_sick_attention_makes_infinite(change: str, tmp_path: Path) -> None:
    outputs = []
    for folder, edits in ((tmp_path / "sick", ()), (tmp_path / "cured", change_of(CASE, change))):
        copy_case(CASE, "ci", edits, folder)
        with imported(folder, "deblur.arch", "half") as (arch, half):
            torch.manual_seed(0)
            attention = arch.FSAS(4, 8)
            x = 8 + torch.randn(1, 4, 8, 8)
            with half.emulated_half("cpu"), torch.amp.autocast("cpu"), torch.no_grad():
                outputs.append(attention(x))
    assert not torch.isfinite(outputs[0]).all()
    assert torch.isfinite(outputs[1]).all()


def test_the_comparison_with_a_device_finds_no_difference_between_equals() -> None:
    with compare_half.sick_project():
        rows = compare_half.compare("cpu", gain=3.0, scale=1.0)
    assert {"conv2d (float16)", "rfft2 (complex32)", "mul (complex32)", "irfft2 (float16)"} <= {
        row.name for row in rows
    }
    assert all(row.apart == 0 and row.agreed == 1 for row in rows)
    infinite = {row.name for row in rows if row.infinite_emulated}
    assert {"mul (complex32)", "irfft2 (float16)", "gradients of weight (float32)"} <= infinite


@contextmanager
def patient(project: Path, gain: float) -> Iterator[tuple[Any, Any]]:
    """A trainer of a copied project, whose queries and keys are louder by a gain."""
    names = ("deblur.arch", "deblur.losses", "deblur.schedule", "deblur.training", "half")
    with imported(project, *names) as (arch, losses, schedule, training, half):
        torch.manual_seed(0)
        model = arch.FFTMini(4, 1, 2, 8)
        with torch.no_grad():
            model.blocks[0].attention.to_hidden_dw.weight[:8] *= gain
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
        trainer = training.Trainer(
            model,
            losses.LossContainer({"sharp_image": losses.CombinedLoss(1.0, 0.1)}),
            optimizer,
            schedule.CosineAnnealingWarmupLR(optimizer, 1, 4, 1e-6, 1e-6),
            None,
            torch.device("cpu"),
            0.5,
        )
        yield trainer, half


def batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    pairs = [data.draw_pair(index, 16) for index in range(count)]
    return [(blurred[None], sharp[None]) for blurred, sharp in pairs]


def logged(finished: Path) -> list[dict[str, float]]:
    lines = re.findall(r"Epoch \d+: (.*)", (finished / "train.log").read_text())
    return [
        {name: float(value) for name, value in re.findall(r"(\w+)=(\S+?)(?:,|$)", line)} for line in lines
    ]
