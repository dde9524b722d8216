"""A sequence model whose loss rises because its task gets harder, and whose best checkpoint is the first."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope.clinic.cases.exponential_curriculum.case import CASE as BENIGN  # noqa: E402
from stethoscope.clinic.cases.protein_sedd import cure  # noqa: E402
from stethoscope.clinic.cases.protein_sedd.case import CASE  # noqa: E402
from stethoscope.clinic.cases.protein_sedd.sedd import config, data, trainer  # noqa: E402
from tests.clinic.case_runs import copy_case, cure_of, evaluate, judge, train  # noqa: E402
from tests.clinic.projects import EXAMPLES, imported, replaced, run  # noqa: E402

CONFIG = "configs/config_protein.yaml"
TRAIN = ["python", "train.py", "--config", CONFIG, "--work_dir"]
SMALL = (
    ("train_sequences: 4096", "train_sequences: 128"),
    ("valid_sequences: 320", "valid_sequences: 32"),
    ("epochs: 16", "epochs: 4"),
    ("snapshot_freq: 1024", "snapshot_freq: 8"),
    ("eval_freq: 256", "eval_freq: 8"),
    ("log_freq: 32", "log_freq: 4"),
)
GUESSING_AMONG_ALL_TOKENS = math.log(24) / math.log(20)  # of what guessing among residues costs
FAMILIES = [data._family(np.random.default_rng((data.FAMILY_SEED, index)))[0] for index in (0, 1)]


# The objective


@pytest.mark.parametrize("step", [0, 500, 2500, 5000])
def test_an_untrained_model_has_the_loss_of_guessing_at_each_step_of_the_curriculum(
    step: int, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    cfg = config.load_config(cure.PROJECT / CONFIG)
    cfg.data.train_sequences = cfg.data.valid_sequences = 320
    patient = trainer.ProteinTrainer(cfg, tmp_path)
    patient.state["step"] = step
    rows = patient.train_loader.dataset.rows.repeat(8, 1)
    with torch.no_grad():
        loss = float(patient.compute_loss(rows))
    assert loss == pytest.approx(guessing(patient.curriculum.difficulty(step)), rel=0.05)


def test_the_cured_loss_ignores_padding(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.CURE)
    rows = data.ProteinDataset(64, 32, 1).rows
    padded = rows == data.PAD
    assert 0.2 < float(padded.float().mean()) < 0.4
    with imported(tmp_path, "sedd.trainer", "sedd.config") as (cured_trainer, cured_config):
        patient = cured_trainer.ProteinTrainer(cured_config.load_config(tmp_path / CONFIG), tmp_path)
        ordinary = patient.graph.score_entropy
        patient.graph.score_entropy = lambda *given: ordinary(*given) + 1e6 * padded
        with torch.no_grad():
            assert float(patient.compute_loss(rows, difficulty=1.0)) < 100


def test_sequences_are_the_same_for_the_same_seed_and_fit_the_vocabulary() -> None:
    rows = data.ProteinDataset(16, 32, 5).rows
    assert torch.equal(rows, data.ProteinDataset(16, 32, 5).rows)
    assert int(rows.max()) < data.VOCABULARY == config.load_config(cure.PROJECT / CONFIG).tokens


# Whole runs, at reduced size


def test_the_sick_run_is_deterministic_and_its_best_checkpoint_is_its_first(tmp_path: Path) -> None:
    cure.copy_project(tmp_path)
    replaced(tmp_path / CONFIG, *SMALL, ("preschool_time: 5000", "preschool_time: 30"))
    first = run([*TRAIN, "first"], tmp_path)
    run([*TRAIN, "second"], tmp_path)
    metrics = (tmp_path / "first" / "metrics.jsonl").read_text()
    assert metrics == (tmp_path / "second" / "metrics.jsonl").read_text()
    assert first.count("New best loss") == 1
    best, earliest = (
        tmp_path / "first" / "checkpoints" / f"{name}.pth"
        for name in ("best_checkpoint", "checkpoint_step_8")
    )
    assert best.read_bytes() == earliest.read_bytes()


def test_a_resumed_run_goes_on_at_its_step(tmp_path: Path) -> None:
    cure.copy_project(tmp_path)
    replaced(tmp_path / CONFIG, *SMALL)
    run([*TRAIN, "first"], tmp_path)
    resumed = run([*TRAIN, "second", "--resume", "first/checkpoints/checkpoint_step_24.pth"], tmp_path)
    assert "Starting training loop at step 24." in resumed
    assert "step=28/100000" in resumed


def test_the_cured_run_counts_updates(tmp_path: Path) -> None:
    cure.copy_project(tmp_path, cure.CURE)
    replaced(
        tmp_path / CONFIG,
        ("train_sequences: 4096", "train_sequences: 128"),
        ("epochs: 16", "epochs: 4"),
        ("log_freq: 8", "log_freq: 2"),
        ("n_iters: 1024", "n_iters: 8"),
    )
    log = run([*TRAIN, "run"], tmp_path)
    assert re.findall(r"step=(\d+)/8", log) == ["2", "4", "6", "8"]


# The case, in its smallest size


def test_sick_and_cured_are_trained_and_judged(tmp_path: Path) -> None:
    finished = train(CASE, (), 7, tmp_path / "sick")
    assert "seed: 7\n" in (finished / "config.yaml").read_text()
    sick = evaluate(CASE, finished, tmp_path / "judge")
    finished = train(CASE, cure_of(CASE), 7, tmp_path / "cured")
    cured = judge(CASE, finished, tmp_path / "judge")
    # In 64 updates a warm-up that ends teaches the residues, and one that does not has hardly begun.
    assert 0.98 < cured["nll_ratio"] < sick["nll_ratio"] < GUESSING_AMONG_ALL_TOKENS + 0.01
    assert cured["best_nll_ratio"] < sick["best_nll_ratio"]
    # The cured run is the benign case: its curriculum raises the loss of training, and of nothing else.
    log = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    epochs = [entry["epoch/loss"] for entry in log if "epoch/loss" in entry]
    validations = [entry["val/loss"] for entry in log if "val/loss" in entry]
    assert epochs[-1] > 1.1 * epochs[0]
    assert validations[-1] < validations[0]


def test_the_benign_case_is_the_cured_project() -> None:
    for sick, benign in zip(CASE.sizes, BENIGN.sizes, strict=True):
        assert benign.edits == (*sick.edits, *cure_of(CASE))


def test_the_judge_knows_guessing(tmp_path: Path) -> None:
    copy_case(CASE, "ci", (), tmp_path)
    with imported(tmp_path, "sedd.trainer", "sedd.config") as (own_trainer, own_config):
        cfg = own_config.load_config(tmp_path / CONFIG)
        own_trainer.ProteinTrainer(cfg, tmp_path).save_checkpoint(0.0)
    (tmp_path / "config.yaml").write_text((tmp_path / CONFIG).read_text())
    scores = judge(CASE, tmp_path, tmp_path / "judge")
    assert (
        scores["nll_ratio"] == scores["best_nll_ratio"] == pytest.approx(GUESSING_AMONG_ALL_TOKENS, abs=1e-4)
    )
    # Two families like two residues after each of twenty.
    liked = {
        (first, int(second)) for family in FAMILIES for first, row in enumerate(family) for second in row
    }
    assert scores["generated"] == pytest.approx(len(liked) / 400, abs=0.02)
    assert scores["true_sequences"] > 0.6


def test_a_seed_changes_the_weights_and_the_order_of_the_data(tmp_path: Path) -> None:
    cfg = config.load_config(cure.PROJECT / CONFIG)
    cfg.data.train_sequences = cfg.data.valid_sequences = 64
    patients = []
    for seed in (0, 1, 1):
        cfg.seed = seed
        torch.manual_seed(seed)
        patients.append(trainer.ProteinTrainer(cfg, tmp_path))
    weights = [next(patient.model.parameters()) for patient in patients]
    batches = [next(iter(patient.train_loader)) for patient in patients]
    for values in (weights, batches):
        assert not torch.equal(values[0], values[1])
        assert torch.equal(values[1], values[2])


# The recorded runs


def test_the_sick_losses_rise_while_the_model_improves() -> None:
    log = recorded("protein-sedd", "train.log")
    for label in ("Average loss", "Validation loss"):
        values = [float(value) for value in re.findall(rf"{label}: ([\d.]+)", log)]
        assert values[-1] > 1.4 * values[0]
    (best_step, best), (last_step, last) = evaluations("protein-sedd")
    assert best_step == 1024
    assert last_step == 4096
    assert all(late < early for late, early in zip(last, best, strict=True))


def test_the_sick_run_ends_before_its_warm_up_does() -> None:
    log = recorded("protein-sedd", "train.log")
    rates = [float(value) for value in re.findall(r"lr=([\d.e-]+)", log)]
    assert rates == sorted(rates)
    assert rates[-1] < 0.003


def test_the_cured_run_learns_more_at_every_share_and_keeps_a_late_checkpoint() -> None:
    log = recorded("protein-sedd-cured", "train.log")
    values = [float(value) for value in re.findall(r"Validation loss: ([\d.]+)", log)]
    assert np.mean(values[-5:]) < np.mean(values[:2])
    sick, cured = evaluations("protein-sedd"), evaluations("protein-sedd-cured")
    assert cured[0][0] >= 512
    for (_, sick_nll), (_, cured_nll) in zip(sick, cured, strict=True):
        assert all(healed < ill for healed, ill in zip(cured_nll, sick_nll, strict=True))


def guessing(difficulty: float) -> float:
    """The loss of a model that gives every token the same chance."""
    sigma = np.linspace(1e-4, 0.8, 100_000)
    integrand = -np.expm1(-difficulty * sigma) / np.expm1(sigma)
    return float(math.log(24) * np.mean(integrand) * (0.8 - 1e-4))


def evaluations(example: str) -> list[tuple[int, list[float]]]:
    """The step of the best and of the last checkpoint, and their likelihoods."""
    blocks = re.split(r"^\S+ of step ", recorded(example, "evaluation.txt"), flags=re.MULTILINE)[1:]
    return [
        (int(block.split()[0]), [float(nll) for nll in re.findall(r"([\d.]+) nats", block)])
        for block in blocks
    ]


def recorded(example: str, name: str) -> str:
    return (EXAMPLES / example / name).read_text(encoding="utf-8")
