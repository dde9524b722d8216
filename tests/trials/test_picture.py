"""The picture and the text of a trial."""

from __future__ import annotations

from pathlib import Path

from stethoscope.figures import svg
from stethoscope.report.terminal import plain_console
from stethoscope.trials import Change, Ending, Metric, Outcome, Trial, TrialResult, judge
from stethoscope.trials.arms import arms_of
from stethoscope.trials.picture import effects, picture
from stethoscope.trials.trial_text import render


def test_every_comparison_is_a_row_with_its_interval() -> None:
    result = _result()
    rows = {row.name: row for row in effects(result).rows}
    assert list(rows) == ["all fixes together", "a, alone", "a, beside the others", "b, alone", *_rest()]
    assert rows["a, alone"].text == "necessary and sufficient"
    assert rows["a, alone"].value == 10.0
    assert rows["b, alone"].tone == "muted"
    drawn = svg.render(picture(result))
    assert "necessary and sufficient" in drawn
    assert "cured" in drawn


def test_a_run_that_ended_early_ends_its_curve_there() -> None:
    """The median at the last step is that of the runs that reached it."""
    result = _result(cut={("cured", 0): 2})
    chart = picture(result).panels[1]
    (cured,) = [line for line in chart.lines if line.name == "cured"]
    assert cured.x.tolist() == [0.0, 1.0, 2.0]
    assert cured.y.tolist() == [10.0, 11.0, 12.0]


def test_text_from_a_command_cannot_act_on_a_terminal() -> None:
    result = _result()
    bad = Outcome("placebo", 99, Ending.CRASHED, why="exit status 1", tail=("\x1b[31mred\x1b[0m",))
    told = render(judge(result.trial, result.arms, [*result.outcomes, bad]), plain_console(100))
    assert "\x1b" not in told
    assert r"\x1b[31mred" in told


def _rest() -> list[str]:
    return ["b, beside the others", "placebo, alone"]


def _result(cut: dict[tuple[str, int], int] | None = None) -> TrialResult:
    placebo = Change("placebo", (), "a comment", in_cure=False)
    trial = Trial(
        "t",
        Path("."),
        ("x",),
        Metric("val/psnr", "max", unit="dB"),
        (Change("a", ()), Change("b", ())),
        Path("."),
        seeds=tuple(range(8)),
        placebo=placebo,
    )
    arms = arms_of(trial)
    outcomes = []
    for arm in arms:
        for seed in trial.seeds:
            score = 10.0 * ("a" in arm.changes) + 0.1 * seed
            length = (cut or {}).get((arm.name, seed), 3)
            curve = tuple((step, 10.0 * ("a" in arm.changes) + step) for step in range(length))
            outcomes.append(
                Outcome(arm.name, seed, Ending.SCORED, score, score, curve=curve, fingerprint=f"{seed}")
            )
    return judge(trial, arms, outcomes)
