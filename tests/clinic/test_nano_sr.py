"""The first patient: a small super-resolution project, sick in two places of its source."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from scipy import ndimage  # noqa: E402

from stethoscope.clinic.case import Case, Change, Role  # noqa: E402
from stethoscope.clinic.cases.nano_sr import case, cure  # noqa: E402
from stethoscope.clinic.cases.nano_sr.nanosr import (  # noqa: E402
    arch,
    data,
    dynamic_loss,
    ema,
    losses,
    metrics,
    model,
    options,
)
from stethoscope.clinic.cases.nano_sr_healthy.case import CASE as healthy  # noqa: E402, N811
from stethoscope.clinic.edit import Edit, apply, copy_files  # noqa: E402
from tests.clinic.projects import imported  # noqa: E402

ROOT = Path(__file__).parents[2]
OPTIONS = cure.PROJECT / "options"
EXAMPLES = ROOT / "examples"

ITERATION = re.compile(
    r"^\S+ \S+ INFO: \[epoch: *([\d,]+), iter: *([\d,]+), lr:\(([^)]+)\)\] "
    r"\[performance: [\d.]+ it/s\] \[eta: [^\]]+\] \[peak VRAM: [\d.]+ GB\] (.*)$",
    re.MULTILINE,
)
VALIDATION = re.compile(
    r"^\S+ \S+ INFO: Validation (\S+)\n"
    r"\t # psnr : +([\d.]+)\tBest: +([\d.]+) @ +([\d,]+) iter\n"
    r"\t # ssim : +(-?[\d.]+)\tBest: +(-?[\d.]+) @ +([\d,]+) iter\n\n",
    re.MULTILINE,
)


# Options


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    file = edited(tmp_path, ("  ema_decay: 0.999", "  ema_deacy: 0.999"))
    with pytest.raises(
        options.OptionError, match=r"unknown option `train\.ema_deacy`; known here: .*ema_decay"
    ):
        options.load_options(file)


def test_a_missing_key_is_refused_by_name(tmp_path: Path) -> None:
    file = edited(tmp_path, ("  total_iter: 5000\n", ""))
    with pytest.raises(options.OptionError, match=r"missing option `train\.total_iter`"):
        options.load_options(file)


def test_a_number_that_yaml_reads_as_text_is_explained(tmp_path: Path) -> None:
    file = edited(tmp_path, ("min_weight: !!float 1e-6", "min_weight: 1e-6"))
    with pytest.raises(options.OptionError, match=r"min_weight` must be float, got '1e-6'; write !!float"):
        options.load_options(file)


def test_sick_and_cured_settings_differ_only_in_their_name() -> None:
    sick = (OPTIONS / "nano_sr.yml").read_text().splitlines()[1:]
    cured = (OPTIONS / "nano_sr_cured.yml").read_text().splitlines()[1:]
    assert [pair for pair in zip(sick, cured, strict=True) if pair[0] != pair[1]] == [
        ("name: nano_sr", "name: nano_sr_cured")
    ]


def test_the_popular_fix_does_not_even_start(tmp_path: Path) -> None:
    run = train(cure.PROJECT, OPTIONS / "popular_fix.yml", tmp_path)
    assert run.returncode == 2
    assert "unknown option `train.grad_clip_max_norm`" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_the_unknown_key_the_popular_fix_is_valid(tmp_path: Path) -> None:
    text = (OPTIONS / "popular_fix.yml").read_text()
    file = tmp_path / "options.yml"
    file.write_text(re.sub(r".*grad_clip_max_norm.*\n", "", text))
    assert options.load_options(file).train.scheduler.type == "CosineAnnealingLR"


# Losses and metrics


def test_the_sick_ssim_loss_is_largest_for_identical_images() -> None:
    image, other = drawn(1), drawn(2)
    loss = losses.SSIMLoss(loss_weight=0.05)
    assert float(loss(image, image)) == pytest.approx(1.0)
    assert float(loss(image, other)) < 0.9


def test_the_cured_ssim_loss_is_zero_for_identical_images(cured: ModuleType) -> None:
    image, other = drawn(1), drawn(2)
    loss = cured.SSIMLoss(loss_weight=0.05)
    assert float(loss(image, image)) == pytest.approx(0.0, abs=1e-5)
    assert float(loss(image, other)) > 0.1


def test_the_multi_scale_sibling_is_a_loss() -> None:
    image, other = drawn(1), drawn(2)
    loss = losses.MSSIMLoss(loss_weight=0.05)
    assert float(loss(image, image)) == pytest.approx(0.0, abs=1e-5)
    assert float(loss(image, other)) > 0.1


def test_ssim_agrees_with_a_reference_written_with_scipy() -> None:
    a, b = eight_bit(drawn(1)), eight_bit(drawn(2))
    assert metrics.calculate_ssim(a, b, 4) == pytest.approx(reference_ssim(a, b, 4), abs=1e-9)
    assert metrics.calculate_ssim(a, a, 4) == pytest.approx(1.0)


def test_psnr_agrees_with_its_definition() -> None:
    a = np.full((20, 20, 3), 100, np.uint8)
    b = a.copy()
    b[5:15, 5:15] += 10
    b[0] = 0  # outside the cropped region
    assert metrics.calculate_psnr(a, b, 4) == pytest.approx(10 * np.log10(255**2 / (100 * 100 / 144)))
    assert metrics.calculate_psnr(a, a, 4) == float("inf")


def test_the_ssim_loss_computes_what_the_metric_reports() -> None:
    a, b = drawn(1), drawn(2)
    in_metric = metrics.calculate_ssim(eight_bit(a), eight_bit(b), 0)
    assert float(losses.SSIMLoss()(a, b)) == pytest.approx(in_metric, abs=1e-4)


# Parts


def test_dynamic_weights_cannot_leave_their_algebraic_bound() -> None:
    opt = options.load_options(OPTIONS / "nano_sr.yml").train.dynamic_loss_scheduling
    scheduler = dynamic_loss.DynamicLossScheduler(opt)
    rng = np.random.default_rng(0)
    values = 0.03 * np.exp(rng.standard_cauchy(5000).clip(-20, 20))
    weights = [scheduler({"l_g_l1": float(value)})["l_g_l1"] for value in values]
    # A loss is at most 1 / SMOOTHING times a running mean that already contains it.
    lowest = 1 - opt.adaptation_rate * (1 / dynamic_loss.SMOOTHING - 1)
    assert set(weights[: opt.baseline_iterations]) == {1.0}
    assert lowest <= min(weights) < 1 < max(weights) <= 1 + 2 * opt.adaptation_rate


def test_dynamic_weights_of_a_calm_loss_stay_within_one_percent() -> None:
    opt = options.load_options(OPTIONS / "nano_sr.yml").train.dynamic_loss_scheduling
    scheduler = dynamic_loss.DynamicLossScheduler(opt)
    rng = np.random.default_rng(0)
    weights = [scheduler({"l": float(v)})["l"] for v in 0.03 * np.exp(0.3 * rng.standard_normal(5000))]
    assert min(weights) > 0.99
    assert max(weights) < 1.01


@pytest.mark.parametrize(("step", "decay"), [(1, 0.0), (100, 0.968), (1000, 0.994), (20_000, 0.999)])
def test_the_average_lengthens_with_the_run(step: int, decay: float) -> None:
    average = ema.ExponentialMovingAverage(torch.nn.Linear(1, 1), decay=0.999, power=0.75)
    average.step = step
    assert average.current_decay() == pytest.approx(decay, abs=5e-4)


def test_the_base_keeps_a_constant_image_and_its_place() -> None:
    base = arch.MagicKernelUpsample(2, 0.4)
    assert torch.allclose(base(torch.full((1, 3, 9, 7), 0.3)), torch.full((1, 3, 18, 14), 0.3))
    ramp = torch.arange(16.0).repeat(1, 3, 16, 1)
    enlarged = base(ramp)[0, 0, 16, 8:24]
    assert torch.allclose(enlarged, torch.arange(8, 24) / 2 - 0.25, atol=1e-5)


def test_images_are_the_same_for_the_same_seed() -> None:
    assert torch.equal(data.draw_image(7, 32), data.draw_image(7, 32))
    assert not torch.equal(data.draw_image(7, 32), data.draw_image(8, 32))


# The cure


def test_the_cure_changes_two_places_and_nothing_else(tmp_path: Path) -> None:
    cure.copy_project(tmp_path / "sick")
    cure.copy_project(tmp_path / "cured", cure.CURE)
    changed = {name: hunks(tmp_path, name) for name in cure.SOURCES}
    assert {name: count for name, count in changed.items() if count} == {
        "nanosr/losses.py": 1,
        "nanosr/model.py": 1,
    }


def test_an_edit_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"nanosr/losses\.py: expected the text to replace once, found it 0"):
        apply(cure.SIMILARITY_IS_MINIMISED, "nothing of the kind")


# A whole run, at reduced size


def test_a_short_run_writes_its_log_and_checkpoints_and_resumes_exactly(tmp_path: Path) -> None:
    small = (
        ("num_images: 64", "num_images: 4"),
        ("image_size: 128", "image_size: 48"),
        ("num_images: 6\n", "num_images: 1\n"),
        ("image_size: 256", "image_size: 144"),
        ("total_iter: 5000", "total_iter: 20"),
        ("baseline_iterations: 200", "baseline_iterations: 5"),
        ("val_freq: 100", "val_freq: 10"),
        ("print_freq: 50", "print_freq: 5"),
        ("save_checkpoint_freq: 2500", "save_checkpoint_freq: 10"),
    )
    run = train(cure.PROJECT, edited(tmp_path, *small), tmp_path / "whole")
    assert run.returncode == 0, run.stderr
    whole = tmp_path / "whole" / "nano_sr"
    (log,) = whole.glob("train_nano_sr_*.log")
    check_log(log.read_text(encoding="utf-8"))
    assert sorted(str(file.relative_to(whole)) for file in whole.glob("*/*")) == [
        "models/net_g_ema_10.safetensors",
        "models/net_g_ema_20.safetensors",
        "resume_models/net_g_10.safetensors",
        "resume_models/net_g_20.safetensors",
        "training_states/10.state",
        "training_states/20.state",
    ]

    finished = whole / "models" / "net_g_ema_20.safetensors"
    expected = finished.read_bytes()
    finished.unlink()
    state = whole / "training_states" / "10.state"
    file = edited(tmp_path, *small, ("resume_state: ~", f"resume_state: {state}"))
    run = train(cure.PROJECT, file, tmp_path / "whole")
    assert run.returncode == 0, run.stderr
    assert "Start training from epoch: 10, iter: 10." in run.stderr
    assert finished.read_bytes() == expected


def check_log(text: str) -> None:
    rows = ITERATION.findall(text)
    assert [row[1] for row in rows] == ["5", "10", "15", "20"]
    scalars = dict(pair.split(": ") for pair in re.findall(r"\w+: \S+", rows[-1][3]))
    assert list(scalars) == [
        "l_g_l1",
        "l_g_ssim",
        "l_g_total",
        "dynamic_weight_l_g_l1",
        "dynamic_weight_l_g_ssim",
        "grad_norm_g",
        "scale_g",
    ]
    terms = float(scalars["l_g_l1"]) + float(scalars["l_g_ssim"])
    assert float(scalars["l_g_total"]) == pytest.approx(terms, rel=1e-3)
    assert [row[0] for row in VALIDATION.findall(text)] == ["Drawn_Val", "Drawn_Val"]
    assert "DEBUG: # 2x super-resolution" in text
    assert "INFO: Start training from epoch: 0, iter: 0.\n" in text
    assert "INFO: End of training. Time consumed: 0:00:" in text


# The recorded runs

RECORDED = [("nano-sr", "nano_sr", ()), ("nano-sr-cured", "nano_sr_cured", cure.CURE)]


@pytest.mark.parametrize(("example", "name", "edits"), RECORDED)
def test_an_example_holds_the_source_and_settings_that_ran(
    example: str, name: str, edits: tuple[cure.Edit, ...], tmp_path: Path
) -> None:
    cure.copy_project(tmp_path, edits)
    recorded = EXAMPLES / example / "code"
    for source in cure.SOURCES:
        assert (recorded / source).read_text() == (tmp_path / source).read_text(), source
    settings = (EXAMPLES / example / f"{name}.yml").read_text()
    assert settings == (OPTIONS / f"{name}.yml").read_text()


@pytest.mark.parametrize(("example", "name", "edits"), RECORDED)
def test_an_example_names_no_machine_and_stays_small(
    example: str, name: str, edits: tuple[cure.Edit, ...]
) -> None:
    files = [file for file in (EXAMPLES / example).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 400_000
    for file in files:
        assert not re.search(rb"/work|/root|/tmp|/home", file.read_bytes()), file


def test_the_sick_run_peaks_early_and_ends_below_bicubic() -> None:
    bicubic = bicubic_scores(small_yardstick=True)
    log = recorded_log("nano-sr")
    for metric, least_fall in (("psnr", 1.0), ("ssim", 0.15)):
        steps, values = validations(log, metric)
        peak = int(np.argmax(values))
        assert steps[peak] <= 0.15 * steps[-1]
        assert values[0] < values[peak]
        assert values[-1] < values[peak] - least_fall
        assert values[-1] < bicubic[metric]
    total = series(log, "l_g_total")
    assert np.mean(total[-10:]) < np.mean(total[:10])


def test_the_sick_run_shows_nothing_wrong_with_precision_or_weights() -> None:
    log = recorded_log("nano-sr")
    scale = series(log, "scale_g")
    assert scale == sorted(scale)
    assert scale[-1] >= 2**20
    warm_up = 4  # windows of 50 iterations
    assert np.max(series(log, "grad_norm_g")[warm_up:]) < 0.2
    for label in ("dynamic_weight_l_g_l1", "dynamic_weight_l_g_ssim"):
        assert np.allclose(series(log, label), 1, atol=0.01)


def test_the_cured_run_improves_to_the_end_and_beats_bicubic() -> None:
    bicubic = bicubic_scores(small_yardstick=False)
    log = recorded_log("nano-sr-cured")
    for metric, slack in (("psnr", 0.05), ("ssim", 0.002)):
        steps, values = validations(log, metric)
        assert steps[int(np.argmax(values))] >= 0.7 * steps[-1]
        assert values[-1] > max(values) - slack
        assert values[-1] > bicubic[metric]


# The case

both_cases = pytest.mark.parametrize("patient", [case.CASE, healthy], ids=lambda one: one.name)
# What the two write-ups propose to change, by the numbers of their claims.
PROPOSALS = {"000.11", "000.13", "000.14", "000.15", "000.16", "000.17", "000.18"} | {
    *("001.2", "001.4", "001.6", "001.7", "001.8", "001.9", "001.12", "001.14")
}


@both_cases
def test_every_change_fits_its_sources_alone_and_in_every_size(patient: Case, tmp_path: Path) -> None:
    for change in patient.changes:
        laid_out(patient, tmp_path / change.name)
        laid_out(patient, tmp_path / change.name, change.edits)
        for size in patient.sizes:
            laid_out(patient, tmp_path / change.name, (*size.edits, *change.edits))
    assert len({change.name for change in patient.changes}) == len(patient.changes)


@both_cases
def test_every_change_really_changes_the_project(patient: Case, tmp_path: Path) -> None:
    laid_out(patient, tmp_path / "sick")
    for change in patient.changes:
        laid_out(patient, tmp_path / change.name, change.edits)
        differing = {
            name for name in patient.sources if read(tmp_path, change, name) != read(tmp_path, None, name)
        }
        assert differing == {edit.file for edit in change.edits}, change.name


def test_every_proposal_of_the_write_ups_is_among_the_changes() -> None:
    changes = (*case.CASE.changes, *healthy.changes)
    claims = {claim for change in changes if change.role is Role.ADVICE for claim in change.claims}
    assert claims >= PROPOSALS
    assert all(re.fullmatch(r"00[01](\.\d{1,2})?", claim) for claim in claims)


def test_the_short_settings_are_the_recorded_ones_at_another_length() -> None:
    recorded = options.load_options(OPTIONS / "nano_sr.yml")
    short = options.load_options(OPTIONS / "nano_sr_short.yml")
    assert short.network_g == recorded.network_g
    assert short.train.losses == recorded.train.losses
    shares = [
        [mark / opt.train.total_iter for mark in (*opt.train.scheduler.milestones, opt.train.warmup_iter)]
        for opt in (recorded, short)
    ]
    assert shares[0] == pytest.approx(shares[1])


def test_the_bar_is_what_bicubic_enlargement_scores(tmp_path: Path) -> None:
    laid_out(case.CASE, tmp_path)
    with imported(tmp_path, "judge") as (judge,):
        enlarge = torch.nn.Upsample(scale_factor=2, mode="bicubic")
        scores = judge.scores(enlarge)
        errors = [
            np.mean((whole(enlarge(lq.unsqueeze(0))) - whole(gt.unsqueeze(0)))[4:-4, 4:-4] ** 2)
            for lq, gt in data.ProceduralPairs(judge.IMAGES, 2).pairs
        ]
    assert scores["val/psnr"] == pytest.approx(np.mean(10 * np.log10(255**2 / np.array(errors))), abs=1e-4)
    assert scores["val/psnr"] == pytest.approx(case.BICUBIC_PSNR, abs=0.005)


def test_the_reduced_size_is_sick_and_its_cure_learns(tmp_path: Path) -> None:
    cures = tuple(change for change in case.CASE.changes if change.role is Role.CURE)
    sick = judged(case.CASE, tmp_path / "sick")
    cured = judged(case.CASE, tmp_path / "cured", *cures)
    assert sick["iteration"] == cured["iteration"] == 60
    assert sick["val/psnr"] < cured["val/psnr"] - 0.3
    assert sick["val/ssim"] < cured["val/ssim"] - 0.04
    assert sick["val/psnr"] < case.BICUBIC_PSNR


def test_a_seed_decides_the_initial_weights_and_the_patches(tmp_path: Path) -> None:
    opt = options.load_options(OPTIONS / "nano_sr_short.yml")
    pairs = data.ProceduralPairs(opt.datasets.val, opt.scale)
    first, second = (data.training_batch(pairs, opt.datasets.train, seed, 1)[0] for seed in (0, 1))
    assert not torch.equal(first, second)
    laid_out(case.CASE, tmp_path)
    seeded = case.CASE.command.partition("&&")[0].replace("{seed}", "7")
    subprocess.run(["bash", "-c", seeded], cwd=tmp_path, check=True)
    assert options.load_options(tmp_path / "seeded.yml").manual_seed == 7


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("clip-max-norm", "unknown option `train.grad_clip_max_norm`"),
        ("min-weight-as-written", "must be float, got '1e-6'"),
        ("resume-from-the-peak", "experiments/nano_sr/training_states/30.state"),
    ],
)
def test_what_cannot_be_applied_is_refused_before_the_first_step(
    name: str, said: str, tmp_path: Path
) -> None:
    (change,) = (change for change in case.CASE.changes if change.name == name)
    assert change.predicted == ("cannot be applied",)
    run = trained(case.CASE, tmp_path, change)
    assert run.returncode != 0
    assert said in run.stderr
    assert "l_g_total" not in run.stderr


# Helpers


def laid_out(patient: Case, folder: Path, edits: tuple[Edit, ...] = ()) -> None:
    copy_files(patient.project, patient.sources, folder, edits)


def read(folder: Path, change: Change | None, name: str) -> str:
    return (folder / (change.name if change else "sick") / name).read_text(encoding="utf-8")


def trained(patient: Case, folder: Path, *changes: Change) -> subprocess.CompletedProcess[str]:
    """Run the command of a case in its reduced size, as a trial does."""
    (size,) = (size for size in patient.sizes if size.name == "ci")
    laid_out(patient, folder, (*size.edits, *(edit for change in changes for edit in change.edits)))
    return in_bash(patient.command.replace("{seed}", "0"), folder)


def judged(patient: Case, folder: Path, *changes: Change) -> dict[str, float]:
    """Train a case and score it with the evaluator of an untouched copy."""
    run = trained(patient, folder / "edited", *changes)
    assert run.returncode == 0, run.stderr
    laid_out(patient, folder / "untouched")
    evaluated = in_bash(
        patient.evaluate.replace("{run}", str(folder / "edited" / patient.run)), folder / "untouched"
    )
    assert evaluated.returncode == 0, evaluated.stderr
    scores: dict[str, float] = json.loads(evaluated.stdout.splitlines()[-1])
    return scores


def in_bash(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def whole(image: torch.Tensor) -> np.ndarray:
    return np.rint(image[0].clamp(0, 1).permute(1, 2, 0).numpy().astype(np.float64) * 255)


@pytest.fixture
def cured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The losses of the cured twin, imported from a copy of the project."""
    cure.copy_project(tmp_path / "cured", cure.CURE)
    monkeypatch.syspath_prepend(str(tmp_path / "cured"))
    yield importlib.import_module("nanosr.losses")
    for name in [name for name in sys.modules if name.partition(".")[0] == "nanosr"]:
        del sys.modules[name]


def edited(folder: Path, *replacements: tuple[str, str]) -> Path:
    """Write the sick settings to `folder`, with each text replaced."""
    text = (OPTIONS / "nano_sr.yml").read_text()
    for old, to in replacements:
        assert old in text
        text = text.replace(old, to, 1)
    file = folder / "options.yml"
    file.write_text(text)
    return file


def train(project: Path, settings: Path, experiments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(project / "train.py"), "-opt", str(settings)]
    command += ["--experiments-root", str(experiments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def drawn(seed: int) -> torch.Tensor:
    return data.draw_image(seed, 40).unsqueeze(0)


def eight_bit(image: torch.Tensor) -> metrics.Image:
    return np.rint(image[0].permute(1, 2, 0).numpy() * 255).astype(np.uint8)


def reference_ssim(a: metrics.Image, b: metrics.Image, border: int) -> float:
    """SSIM as the paper writes it, one channel at a time, filtered by scipy."""

    def mean(plane: np.ndarray) -> np.ndarray:
        smooth = ndimage.gaussian_filter(plane, 1.5, radius=5)
        return smooth[5:-5, 5:-5]

    scores = []
    for channel in range(3):
        x = a[border:-border, border:-border, channel].astype(float)
        y = b[border:-border, border:-border, channel].astype(float)
        mx, my = mean(x), mean(y)
        vx, vy, cxy = mean(x * x) - mx * mx, mean(y * y) - my * my, mean(x * y) - mx * my
        numerator = (2 * mx * my + 6.5025) * (2 * cxy + 58.5225)
        scores.append(numerator / ((mx * mx + my * my + 6.5025) * (vx + vy + 58.5225)))
    return float(np.mean(scores))


def hunks(folder: Path, name: str) -> int:
    """Count the separate places in which the sick and the cured file differ."""
    sick, cured = ((folder / kind / name).read_text().splitlines() for kind in ("sick", "cured"))
    return sum(line.startswith("@@") for line in difflib.unified_diff(sick, cured, n=0))


def bicubic_scores(*, small_yardstick: bool) -> dict[str, float]:
    """What plain bicubic enlargement scores on the validation images."""
    opt = options.load_options(OPTIONS / "nano_sr.yml")
    judge = model.SRModel(opt, Path())
    enlarge = torch.nn.Upsample(scale_factor=2, mode="bicubic")
    judge.net_g_ema.network = enlarge
    dataset = data.ProceduralPairs(opt.datasets.val, opt.scale)
    if small_yardstick:
        return judge.validate(dataset, 0)
    scores: dict[str, list[float]] = {"psnr": [], "ssim": []}
    for lq, gt in dataset.pairs:
        image, truth = eight_bit(enlarge(lq.unsqueeze(0)).clamp(0, 1)), eight_bit(gt.unsqueeze(0))
        scores["psnr"].append(metrics.calculate_psnr(image, truth, 4))
        scores["ssim"].append(metrics.calculate_ssim(image, truth, 4))
    return {name: float(np.mean(values)) for name, values in scores.items()}


def recorded_log(example: str) -> str:
    (log,) = (EXAMPLES / example).glob("train_*.log")
    return log.read_text(encoding="utf-8")


def series(log: str, label: str) -> list[float]:
    return [float(re.search(rf"\b{label}: (\S+)", row[3])[1]) for row in ITERATION.findall(log)]


def validations(log: str, metric: str) -> tuple[list[int], list[float]]:
    """The steps and values of one metric; a record follows the line of its own iteration."""
    steps, values, step = [], [], 0
    for line in log.splitlines():
        if found := re.search(r"iter: *([\d,]+), lr", line):
            step = int(found[1].replace(",", ""))
        if found := re.match(rf"\t # {metric} : +(-?[\d.]+)", line):
            steps.append(step)
            values.append(float(found[1]))
    return steps, values
