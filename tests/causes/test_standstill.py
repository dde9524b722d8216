"""A loss that never moves is called healthy only where something says that it had nothing left to learn."""

import math
import random

import pytest

from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import diagnose


def diagnosed(folder, header, rows):
    folder.mkdir(exist_ok=True)
    (folder / "log.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return diagnose(folder)


def test_a_loss_alone_that_never_moves_is_no_verdict(tmp_path):
    chance = random.Random(3)
    rows = [(10 * i, round(0.83 + chance.gauss(0, 0.02), 4), 0.001) for i in range(60)]
    diagnosis = diagnosed(tmp_path / "run", "step,loss,lr", rows)
    assert diagnosis.verdict is Verdict.UNKNOWN
    assert diagnosis.explanation.standstill.rule.name == "loss-never-falls"


def test_a_loss_that_stays_at_guessing_among_ten_is_found(tmp_path):
    chance = random.Random(4)
    rows = [(10 * i, round(math.log(10) + chance.gauss(0, 0.004), 4), 0.001) for i in range(60)]
    diagnosis = diagnosed(tmp_path / "run", "step,loss,lr", rows)
    assert diagnosis.verdict in {Verdict.SICK, Verdict.UNKNOWN}
    assert diagnosis.explanation.symptoms


@pytest.mark.parametrize("seed", range(3))
def test_good_scores_beside_it_make_it_healthy(tmp_path, seed):
    chance = random.Random(seed)
    rows = [
        (i, round(0.12 + chance.gauss(0, 0.004), 4), round(0.96 + chance.gauss(0, 0.002), 4))
        for i in range(30)
    ]
    assert diagnosed(tmp_path / "run", "epoch,loss,val_accuracy", rows).verdict is Verdict.HEALTHY
