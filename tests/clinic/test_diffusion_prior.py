"""A denoising prior whose settings are parsed, logged and never used, and whose target is not its output."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from stethoscope.clinic.cases.diffusion_prior import cure  # noqa: E402
from stethoscope.clinic.cases.diffusion_prior.prior import data, network  # noqa: E402
from tests.clinic.projects import EXAMPLES, imported, replaced, run  # noqa: E402

SMALL = (
    ('MAX_STEPS="4800"', 'MAX_STEPS="16"'),
    ('GRAD_ACCUM="16"', 'GRAD_ACCUM="4"'),
    ('LOG_FREQUENCY="20"', 'LOG_FREQUENCY="4"'),
    ('VAL_FREQUENCY="240"', 'VAL_FREQUENCY="8"'),
    ('SAVE_FREQUENCY="1200"', 'SAVE_FREQUENCY="8"'),
)


# The objective


@pytest.mark.parametrize(("edits", "perfect_scores"), [((), False), (cure.CURE, True)])
def test_only_the_cured_loss_is_zero_for_a_perfect_denoiser(
    edits: tuple[cure.Edit, ...], perfect_scores: bool, tmp_path: Path
) -> None:
    cure.copy_project(tmp_path, edits)
    batch = next(iter(data.validation_loader(data.PriorDataset(12, 0), 12)))
    torch.manual_seed(0)
    with imported(tmp_path, "train_prior") as (train_prior,):
        loss = float(train_prior.diffusion_loss(lambda noisy, sigma, domain: batch["clean"], batch))
    assert (loss == 0.0) == perfect_scores
    assert perfect_scores or loss > 0.5


@pytest.mark.parametrize(("edits", "counts"), [((), True), (cure.CURE, False)])
def test_only_the_sick_loss_counts_padded_channels(
    edits: tuple[cure.Edit, ...], counts: bool, tmp_path: Path
) -> None:
    cure.copy_project(tmp_path, edits)
    batch = next(iter(data.validation_loader(data.PriorDataset(12, 0), 12)))

    def off_in_the_padding(noisy: torch.Tensor, sigma: torch.Tensor, domain: torch.Tensor) -> torch.Tensor:
        padded = torch.arange(4) >= batch["channels"][:, None]
        return batch["clean"] + 100 * padded[:, :, None, None]

    with imported(tmp_path, "train_prior") as (train_prior,):
        assert (float(train_prior.diffusion_loss(off_in_the_padding, batch)) > 1) == counts


def test_the_network_starts_by_returning_its_input() -> None:
    model = network.VPPrecond(network.SongUNet(4, 8, 1, 3, 0.0))
    x, sigma = torch.randn(2, 4, 16, 16), torch.full((2, 1, 1, 1), 0.3)
    assert torch.equal(model(x, sigma, torch.tensor([0, 2])), x)


def test_tiles_are_the_same_for_the_same_seed_and_padded_with_zeros() -> None:
    assert torch.equal(data.draw_tile("astronomy", 3), data.draw_tile("astronomy", 3))
    tile = data.PriorDataset(3, 0)[1]
    assert int(tile["channels"]) == 1
    assert tile["clean"][1:].abs().sum() == 0
    assert tile["clean"][0].abs().sum() > 0


# Whole runs, at reduced size


def test_the_sick_run_is_the_same_whether_it_resumes_or_not(tmp_path: Path) -> None:
    cure.copy_project(tmp_path)
    replaced(tmp_path / "run.sh", *SMALL)
    first = run(["bash", "run.sh"], tmp_path)
    checkpoints = tmp_path / "results" / "prior" / "checkpoints"
    assert sorted(file.name for file in checkpoints.iterdir()) == [
        "checkpoint_step_0000008.pth",
        "checkpoint_step_0000016.pth",
    ]
    # What the launcher looks for, put there by hand.
    (checkpoints / "checkpoint_step_0000016.pth").rename(checkpoints / "latest.pth")
    second = run(["bash", "run.sh"], tmp_path)
    assert "Resuming from results/prior/checkpoints/latest.pth" in second
    assert losses(second) == losses(first)
    assert [step for step, _ in losses(first)] == [4, 8, 12, 16]


def test_the_cured_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.CURE)
    replaced(tmp_path / "run.sh", *SMALL)
    first = run(["bash", "run.sh"], tmp_path)
    assert [step for step, _ in losses(first)] == [4, 8, 12, 16]
    replaced(tmp_path / "run.sh", ('MAX_STEPS="16"', 'MAX_STEPS="24"'))
    second = run(["bash", "run.sh"], tmp_path)
    assert [step for step, _ in losses(second)] == [20, 24]


# The recorded runs


def test_the_sick_loss_falls_and_leaps() -> None:
    values = [value for _, value in losses(recorded("diffusion-prior", "training.log"))]
    assert statistics.median(values[-40:]) < 0.35 * statistics.median(values[:10])
    assert max(values[40:]) > 10 * statistics.median(values[-40:])


def test_the_sick_prior_is_worse_than_the_noise_it_should_remove() -> None:
    for output, noisy in denoising("diffusion-prior")[:2]:
        assert output < noisy - 8


def test_the_cured_prior_removes_noise_at_every_level() -> None:
    sick, cured = denoising("diffusion-prior"), denoising("diffusion-prior-cured")
    for (sick_output, noisy), (cured_output, same_noisy) in zip(sick, cured, strict=True):
        assert noisy == same_noisy
        assert cured_output > noisy + 3
        assert cured_output > sick_output + 5


def test_both_logs_promise_what_only_one_does() -> None:
    for example in ("diffusion-prior", "diffusion-prior-cured"):
        log = recorded(example, "training.log")
        assert "effective batch size: 64" in log
        assert "lr_scheduler: cosine" in log


def losses(log: str) -> list[tuple[int, float]]:
    found = re.findall(r"Step ([\d,]+): Loss = ([\d.]+)", log)
    return [(int(step.replace(",", "")), float(value)) for step, value in found]


def denoising(example: str) -> list[tuple[float, float]]:
    """PSNR of the best model's output and of its input, from the lowest noise to the highest."""
    text = recorded(example, "evaluation.txt")
    found = re.findall(r"output (-?[\d.]+) dB, noisy input (-?[\d.]+) dB", text)
    return [(float(output), float(noisy)) for output, noisy in found][:3]


def recorded(example: str, name: str) -> str:
    return (EXAMPLES / example / name).read_text(encoding="utf-8")
