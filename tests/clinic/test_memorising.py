"""A network that learns its pictures by heart, guessed labels included."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stethoscope import diagnose  # noqa: E402
from stethoscope.clinic.case import Role  # noqa: E402
from stethoscope.clinic.cases.memorising.case import CASE  # noqa: E402
from stethoscope.clinic.cases.memorising.network import StripeNet  # noqa: E402
from stethoscope.clinic.cases.memorising.stripes import draw  # noqa: E402
from tests.clinic.case_runs import change_of, copy_case, cure_of, evaluate, judge, train  # noqa: E402
from tests.clinic.projects import imported  # noqa: E402

GUESSING = math.log(8)


# The data


def test_the_spectrum_of_a_picture_points_in_the_direction_of_its_class() -> None:
    pictures, classes = draw(400, 5, guessed=0.0)
    spectra = np.abs(np.fft.fft2(pictures.squeeze(1).numpy(), s=(64, 64)))
    spectra[:, 0, 0] = 0
    rows, columns = np.unravel_index(spectra.reshape(len(spectra), -1).argmax(1), (64, 64))
    frequency = np.fft.fftfreq(64)
    angles = np.arctan2(frequency[rows], frequency[columns]) % np.pi
    found = np.rint(angles * 8 / np.pi).astype(int) % 8
    assert np.mean(found == classes.numpy()) > 0.95


def test_three_labels_in_ten_are_guessed_and_the_pictures_stay() -> None:
    pictures, labels = draw(20_000, 5)
    same, classes = draw(20_000, 5, guessed=0.0)
    assert torch.equal(pictures, same)
    # One guess in eight is right.
    assert float((labels != classes).float().mean()) == pytest.approx(0.3 * 7 / 8, abs=0.01)


# The case


def test_every_change_fits_alone_and_the_cures_together(tmp_path: Path) -> None:
    for size in ("ci", "small"):
        for change in CASE.changes:
            copy_case(CASE, size, change.edits, tmp_path / size / change.name)
        copy_case(CASE, size, cure_of(CASE), tmp_path / size / "cured")
        for left_out in [change for change in CASE.changes if change.role is Role.CURE]:
            edits = tuple(edit for edit in cure_of(CASE) if edit not in left_out.edits)
            copy_case(CASE, size, edits, tmp_path / size / f"without-{left_out.name}")
    for file in tmp_path.rglob("*.py"):
        compile(file.read_text(), str(file), "exec")


def test_sick_and_cured_are_trained_and_judged(tmp_path: Path) -> None:
    finished = train(CASE, (), 3, tmp_path / "sick")
    sick = evaluate(CASE, finished, tmp_path / "judge")
    log = read_log(finished)
    assert log["train_loss"][-1] < 0.1
    assert 1 < int(np.argmin(log["val_loss"])) < 12
    assert sick["test_loss"] > GUESSING
    explained = [ranked.name for ranked in diagnose(finished, code=tmp_path / "sick").explanation.causes]
    assert explained[0] == "overfitting"

    finished = train(CASE, cure_of(CASE), 3, tmp_path / "cured")
    cured = judge(CASE, finished, tmp_path / "judge")
    assert cured["test_loss"] < 0.8 * GUESSING
    assert cured["true_acc"] > sick["true_acc"] + 0.1


def test_the_weights_at_the_minimum_are_those_that_were_validated_there(tmp_path: Path) -> None:
    home = tmp_path / "kept"
    finished = train(CASE, change_of(CASE, "keep-the-minimum"), 3, home)
    log = read_log(finished)
    with imported(home, "train", "network") as (program, network):
        model = network.StripeNet(8, 8)
        model.load_state_dict(torch.load(finished / "model.pt", weights_only=True))
        pictures, labels = draw(program.VAL_PICTURES, program.VAL_SEED)
    scores = model.eval()(pictures).detach().double().numpy()
    chances = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    loss = -np.log(chances[np.arange(len(labels)), labels.numpy()]).mean()
    assert loss == pytest.approx(min(log["val_loss"]), rel=1e-4)
    assert loss < 0.7 * log["val_loss"][-1]


def test_the_judge_knows_guessing(tmp_path: Path) -> None:
    model = StripeNet(8, 8)
    torch.nn.init.zeros_(model.head[-1].weight)
    torch.nn.init.zeros_(model.head[-1].bias)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    (tmp_path / "args.json").write_text('{"width": 8}')
    scores = judge(CASE, tmp_path, tmp_path / "judge")
    assert scores["test_loss"] == pytest.approx(GUESSING, abs=1e-4)
    assert scores["test_loss"] == pytest.approx(CASE.metric.bar, abs=1e-4)
    assert scores["true_acc"] == pytest.approx(1 / 8, abs=0.02)


def read_log(run: Path) -> dict[str, list[float]]:
    """The columns of a run's log."""
    with (run / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}
