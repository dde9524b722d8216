"""What curves alone say about look-alikes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from stethoscope.diagnose import Diagnosis, diagnose

LINES = range(1, 41)


def test_scores_of_a_constant_answer_beside_a_falling_loss_speak_of_other_weights(tmp_path: Path) -> None:
    diagnosis = _diagnosed(tmp_path, "step,loss,val/r2", lambda n: (0.4 * math.exp(-n / 8), -0.2 + n / 500))
    first = _first_three(diagnosis)
    assert {"ema-not-updated", "wrong-weights-evaluated"} & first
    assert "dead-units" not in first


def test_scores_of_a_constant_answer_beside_a_loss_that_stays_speak_of_the_network(tmp_path: Path) -> None:
    diagnosis = _diagnosed(tmp_path, "step,loss,val/r2", lambda n: (0.31 + n % 3 / 500, -0.02 + n % 5 / 900))
    first = _first_three(diagnosis)
    assert {"dead-units", "learning-rate-too-high", "vanishing-gradients"} & first
    assert not {"metric-wrong", "ema-not-updated"} & first


def test_a_loss_that_vanishes_while_nothing_is_learned_speaks_of_its_weights(tmp_path: Path) -> None:
    diagnosis = _diagnosed(
        tmp_path, "step,loss,val/r2", lambda n: (0.5 * math.exp(-2.0 * n), -0.4 + n / 900), "{:.3e}"
    )
    assert "loss-weight-controller-unstable" in _first_three(diagnosis)


def test_looks_excuse_two_decibels_and_not_eight(tmp_path: Path) -> None:
    header = "step,loss,loss/gan,val/psnr"
    modest = _diagnosed(tmp_path / "two", header, lambda n: (0.1, 0.7, _peak(n, 2.0)))
    broken = _diagnosed(tmp_path / "eight", header, lambda n: (0.1, 0.7, _peak(n, 8.0)))
    assert not modest.explanation.symptoms
    assert broken.explanation.symptoms
    assert "loss-sign-inverted" in _first_three(broken)


def test_looks_excuse_no_decline_from_before_the_game(tmp_path: Path) -> None:
    header = "step,loss,loss/gan,val/psnr"
    falls = _diagnosed(tmp_path, header, lambda n: (0.1, 0.7 * (n > 30), _peak(n, 2.0)))
    assert falls.explanation.symptoms


def test_notes_rank_the_causes_of_a_run_and_raise_no_alarm(tmp_path: Path) -> None:
    slow = _diagnosed(tmp_path, "step,loss", lambda n: (2.3 - n / 50,))
    assert slow.verdict == "healthy"
    assert "learning-rate-too-low" in _first_three(slow)
    assert not any(cause.stands for cause in slow.explanation.causes)


def test_one_answer_while_a_metric_beside_it_moves_speaks_of_the_network(tmp_path: Path) -> None:
    header = "step,loss,val/nats,val/accuracy"
    calm = _diagnosed(
        tmp_path, header, lambda n: (_settles(n), 2.83 + 0.1 / n, 0.09265 - 0.00258 * (n % 3 == 0))
    )
    assert calm.explanation.causes[0].name in {"dead-units", "vanishing-gradients"}
    assert "parameters-not-updated" not in _first_three(calm)


def test_one_answer_after_a_leap_of_the_first_losses_speaks_of_the_first_steps(tmp_path: Path) -> None:
    header = "step,loss,val/nats,val/accuracy"
    leaps = _diagnosed(
        tmp_path,
        header,
        lambda n: (_settles(n) + 0.8 * (1 < n < 5), 2.83 + 0.1 / n, 0.09265 - 0.00258 * (n % 3 == 0)),
    )
    assert leaps.explanation.causes[0].name in {"warmup-too-short", "learning-rate-too-high"}


def test_a_loss_lost_before_the_first_line_is_hardly_the_rate(tmp_path: Path) -> None:
    diagnosis = _diagnosed(tmp_path, "step,loss,val/loss", lambda n: (math.nan, math.nan))
    assert diagnosis.verdict == "sick"
    assert diagnosis.explanation.causes[0].name in {"corrupt-batch", "loss-numerically-unsafe"}


def test_a_loss_that_is_lost_was_not_learned_too_slowly(tmp_path: Path) -> None:
    diagnosis = _diagnosed(tmp_path, "step,loss", lambda n: (2.3 - n / 90 if n < 30 else math.nan,))
    assert diagnosis.explanation.causes[0].name == "corrupt-batch"


def _settles(line: int) -> float:
    return 2.9 + 0.1 / line


def _peak(line: int, drop: float) -> float:
    return 20.0 + line / 4 if line <= 12 else 23.0 - drop * min(1.0, (line - 12) / 14)


def _diagnosed(
    folder: Path, header: str, row: Callable[[int], tuple[float, ...]], form: str = "{:.5f}"
) -> Diagnosis:
    folder.mkdir(exist_ok=True)
    rows = [f"{10 * line}," + ",".join(form.format(value) for value in row(line)) for line in LINES]
    (folder / "train.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return diagnose(folder)


def _first_three(diagnosis: Diagnosis) -> set[str]:
    return {cause.name for cause in diagnosis.explanation.causes[:3]}
