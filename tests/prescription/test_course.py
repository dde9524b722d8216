"""The ways to go on, what they cost, and what to try if it persists."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.prescription.case import Case
from stethoscope.prescription.cost import Cost, cost_between, seconds_per_step
from stethoscope.prescription.course import Course, course
from stethoscope.report.prescription_text import cost_in_words
from stethoscope.run import Log, Run, Series

BEST, LAST = 400, 2000


def overfitted(folder: Path) -> Path:
    """A run that learns by heart behind step 400, with a checkpoint every 200 steps."""
    folder.mkdir(parents=True)
    rows = ["step,train/loss,val/loss"]
    for step in range(0, LAST + 1, 40):
        rise = 0.0009 * max(step - BEST, 0)
        rows.append(f"{step},{2.0 * 0.998**step + 0.01:.5f},{1.0 + 1.2 * 0.99**step + rise:.5f}")
    (folder / "metrics.csv").write_text("\n".join(rows) + "\n")
    for step in range(200, LAST + 1, 200):
        (folder / f"step_{step}.pt").write_bytes(b"weights")
    return folder


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    return diagnose(overfitted(tmp_path_factory.mktemp("runs") / "one"))


@pytest.fixture(scope="module")
def plan(diagnosis: Diagnosis) -> Course:
    case = Case(diagnosis.run, diagnosis.examination, diagnosis.explanation)
    return course(case, diagnosis.prescription)


def test_the_best_checkpoint_costs_nothing_and_says_what_it_scores(plan: Course) -> None:
    quick, repair, proper = plan.options
    assert (quick.name, quick.is_open, quick.cost.steps) == ("quick", True, 0)
    assert quick.title.endswith("step_400.pt as it is")
    assert quick.effect.startswith("val/loss is 1.0")
    assert quick.effect.endswith("at the end, step 2,000")
    assert [place.steps for place in quick.where] == [(400, 400), (2000, 2000)]
    assert (repair.cost.steps, repair.cost.share) == (1600, 0.8)
    assert (proper.cost.steps, proper.cost.share) == (2000, 1.0)


def test_that_nothing_says_how_to_resume_is_said(plan: Course) -> None:
    assert plan.resume is not None
    assert plan.resume.command is None
    assert "is not known" in plan.resume.how


def test_what_is_treated_is_no_rung(plan: Course, diagnosis: Diagnosis) -> None:
    decided = {cause for rung in plan.ladder for cause in rung.decides}
    assert "overfitting" in {cause.name for cause in diagnosis.explanation.causes if cause.stands}
    assert "overfitting" not in decided
    scores = [rung.probability / max(_share(rung.cost), 0.01) for rung in plan.ladder]
    assert scores == sorted(scores, reverse=True)
    assert all(rung.if_so and rung.if_not for rung in plan.ladder)


def _share(cost: Cost | None) -> float:
    return 0.01 if cost is None else 1.0 if cost.share is None else cost.share


def test_a_run_that_is_well_has_no_course(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(
        "step,loss\n" + "".join(f"{step},{0.1 + 2 / (1 + step / 10):.6f}\n" for step in range(200))
    )
    well = diagnose(tmp_path)
    made = course(Case(well.run, well.examination, well.explanation), well.prescription)
    assert (made.options, made.resume, made.ladder) == ((), None, ())


def series(name: str, logged_as: str, values: list[float]) -> Series:
    return Series(name, logged_as, np.arange(len(values), dtype=np.int64) * 10, np.array(values, dtype=float))


def test_the_clock_in_a_log_gives_hours(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("x")
    loss = series("loss", "loss", [1.0, 0.9, 0.8])
    log = Log(str(file), "text", (loss,), started=1000.0, last_written=1000.0 + 7200.0)
    run = Run("r", "r", (log,), {"loss": loss})
    assert seconds_per_step(run) == 360.0
    cost = cost_between(run, 10, None)
    assert (cost.steps, cost.share, cost.hours) == (10, 0.5, 1.0)
    assert cost_in_words(cost) == "10 steps, 50% of the run, about 60 minutes"


def test_the_time_of_a_copied_file_is_no_clock(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_text("x")
    os.utime(file, (9000.0, 9000.0))
    loss = series("loss", "loss", [1.0, 0.9, 0.8])
    log = Log(str(file), "text", (loss,), started=1000.0, last_written=9000.0)
    assert seconds_per_step(Run("r", "r", (log,), {"loss": loss})) is None


@pytest.mark.parametrize(
    ("logged_as", "value", "seconds"),
    [("time/step (ms)", 250.0, 0.25), ("sec_per_step", 2.0, 2.0), ("step_time", 2.0, None)],
)
def test_what_a_log_says_of_a_step_counts_where_it_has_a_unit(
    logged_as: str, value: float, seconds: float | None
) -> None:
    timed = series("step_time", logged_as, [value, value])
    assert seconds_per_step(Run("r", "r", (), {"step_time": timed})) == seconds


def test_a_run_without_steps_has_no_price() -> None:
    assert cost_in_words(cost_between(Run("r", "r"), None, None)) == "how much training is not known"
