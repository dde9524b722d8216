"""A denoising prior whose settings are parsed, logged and never used, and whose target is not its output."""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope.clinic.case import Case, Change, Role  # noqa: E402
from stethoscope.clinic.cases.diffusion_prior import case, cure  # noqa: E402
from stethoscope.clinic.cases.diffusion_prior.prior import data, network  # noqa: E402
from stethoscope.clinic.cases.diffusion_prior_collapsing.case import CASE as collapsing  # noqa: E402, N811
from stethoscope.clinic.edit import Edit, copy_files  # noqa: E402
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


# The case

both_cases = pytest.mark.parametrize("patient", [case.CASE, collapsing], ids=lambda one: one.name)
# What the write-up proposes to change, by the numbers of its claims.
PROPOSALS = {f"002.{number}" for number in (1, 2, 3, 4, 5, 7, 9, 11, 15, 16)}
CURES = tuple(change for change in case.CASE.changes if change.role is Role.CURE)


@both_cases
def test_every_change_fits_its_sources_alone_and_in_every_size(patient: Case, tmp_path: Path) -> None:
    for change in patient.changes:
        laid_out(patient, tmp_path / change.name, change.edits)
        for size in patient.sizes:
            laid_out(patient, tmp_path / change.name, (*size.edits, *change.edits))
    assert len({change.name for change in patient.changes}) == len(patient.changes)


@both_cases
def test_the_cures_fit_together_in_every_size_and_in_any_order(patient: Case, tmp_path: Path) -> None:
    for size in patient.sizes:
        laid_out(patient, tmp_path / "forwards", (*size.edits, *edits_of(*CURES)))
        laid_out(patient, tmp_path / "backwards", (*edits_of(*reversed(CURES)), *size.edits))
        for name in patient.sources:
            assert (tmp_path / "forwards" / name).read_text() == (tmp_path / "backwards" / name).read_text()


def test_every_proposal_of_the_write_up_is_among_the_changes() -> None:
    claims = {claim for change in case.CASE.changes if change.role is Role.ADVICE for claim in change.claims}
    assert claims >= PROPOSALS
    assert all(re.fullmatch(r"002\.\d{1,2}", claim) for claim in claims)


def test_the_cures_together_have_the_loss_of_the_recorded_cure(tmp_path: Path) -> None:
    batch = next(iter(data.validation_loader(data.PriorDataset(12, 0), 12)))
    values = []
    for folder, edits in (("recorded", cure.CURE), ("parts", edits_of(*CURES))):
        laid_out(case.CASE, tmp_path / folder, edits)
        torch.manual_seed(0)
        with imported(tmp_path / folder, "train_prior") as (train_prior,):
            values.append(float(train_prior.diffusion_loss(lambda noisy, sigma, domain: noisy, batch)))
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_the_clip_sees_gradients_without_the_scale_of_the_scaler(tmp_path: Path) -> None:
    laid_out(case.CASE, tmp_path, edits_of(named(case.CASE, "clip")))
    with imported(tmp_path, "train_prior") as (train_prior,):
        manager = train_prior.TrainingManager(arguments(tmp_path))
        loss = 100 * sum(parameter.sum() for parameter in manager.model.parameters())
        manager.scaler.scale(loss).backward()
        manager.scaler.step(manager.optimizer)
        clipped = torch.cat([parameter.grad.flatten() for parameter in manager.model.parameters()])
    assert float(clipped.norm()) == pytest.approx(1.0, rel=1e-4)


def test_the_schedule_warms_up_and_falls_as_a_cosine(tmp_path: Path) -> None:
    laid_out(case.CASE, tmp_path, edits_of(named(case.CASE, "schedule")))
    args = arguments(tmp_path)
    with imported(tmp_path, "train_prior") as (train_prior,):
        factors = [train_prior.rate_factor(args, step) for step in (0, 9, 10, 55, 100)]
    assert factors == pytest.approx([0.1, 1.0, 1.0, 0.5, 0.0])


def test_the_bar_is_what_the_noisy_tiles_score(tmp_path: Path) -> None:
    laid_out(case.CASE, tmp_path)
    with imported(tmp_path, "judge") as (judge,):
        scores = judge.score(Unchanged())
        tiles = data.PriorDataset(judge.TEST_TILES, judge.TEST_SEED).tiles
        assert scores["psnr"] == pytest.approx(case.NOISY_PSNR, abs=0.005)
        # The same from the definition, with other noise.
        rng = np.random.default_rng(0)
        errors = [
            (np.clip(t + 0.1 * rng.standard_normal(t.shape), -1, 1) - t) ** 2 for t in map(np.asarray, tiles)
        ]
        expected = 10 * math.log10(4 / np.mean(np.concatenate([error.ravel() for error in errors])))
        assert scores["psnr_0.1"] == pytest.approx(expected, abs=0.1)


def test_a_perfect_output_is_recognised_in_either_reading(tmp_path: Path) -> None:
    laid_out(case.CASE, tmp_path)
    with imported(tmp_path, "judge") as (judge,):
        (batch,) = judge.validation_loader(
            judge.PriorDataset(judge.TEST_TILES, judge.TEST_SEED), judge.TEST_TILES
        )
        velocity = judge.score(Velocity(batch["clean"]))
    assert velocity["psnr_learned"] > 80
    assert velocity["psnr"] < case.NOISY_PSNR


def test_the_reduced_size_learns_the_wrong_thing_and_its_cure_the_right_one(tmp_path: Path) -> None:
    sick = judged(case.CASE, tmp_path / "sick")
    cured = judged(case.CASE, tmp_path / "cured", *CURES)
    # At low noise the velocity is furthest from the tile. So early in a run only this level shows it.
    noisy = 10 * math.log10(4 / 0.03**2)
    assert sick["psnr_0.03"] < noisy < cured["psnr_0.03"]


class Unchanged(torch.nn.Module):
    def forward(self, noisy: torch.Tensor, sigma: torch.Tensor, domain: torch.Tensor) -> torch.Tensor:
        return noisy


class Velocity(torch.nn.Module):
    def __init__(self, clean: torch.Tensor) -> None:
        super().__init__()
        self.clean = clean

    def forward(self, noisy: torch.Tensor, sigma: torch.Tensor, domain: torch.Tensor) -> torch.Tensor:
        return (self.clean - noisy / (sigma**2 + 1)) * (sigma**2 + 1).sqrt() / sigma


def arguments(folder: Path) -> argparse.Namespace:
    return argparse.Namespace(
        output_dir=folder,
        learning_rate=1e-3,
        batch_size=4,
        gradient_accumulation_steps=4,
        gradient_clip_norm=1.0,
        lr_scheduler="cosine",
        max_steps=100,
        warmup_steps=10,
        mixed_precision="bf16",
        model_channels=8,
        num_blocks=1,
        dropout=0.1,
    )


def named(patient: Case, name: str) -> Change:
    (change,) = (change for change in patient.changes if change.name == name)
    return change


def edits_of(*changes: Change) -> tuple[Edit, ...]:
    return tuple(edit for change in changes for edit in change.edits)


def laid_out(patient: Case, folder: Path, edits: tuple[Edit, ...] = ()) -> None:
    copy_files(patient.project, patient.sources, folder, edits)


def judged(patient: Case, folder: Path, *changes: Change) -> dict[str, float]:
    """Train a case in its reduced size and score it with the evaluator of an untouched copy."""
    (size,) = (size for size in patient.sizes if size.name == "ci")
    laid_out(patient, folder / "edited", (*size.edits, *edits_of(*changes)))
    run(["bash", "-euo", "pipefail", "-c", patient.command.replace("{seed}", "0")], folder / "edited")
    laid_out(patient, folder / "untouched")
    evaluate = patient.evaluate.replace("{run}", str(folder / "edited" / patient.run))
    scores: dict[str, float] = json.loads(
        run(["bash", "-c", evaluate], folder / "untouched").splitlines()[-1]
    )
    return scores


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
