"""Classes of changes, from scores whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stethoscope.trials import Change, Class, Ending, Metric, Outcome, Trial, TrialResult, judge
from stethoscope.trials.arms import arms_of

PLACEBO = Change("placebo", (), in_cure=False)


def test_two_faults_of_which_each_is_enough_to_be_sick_are_both_necessary() -> None:
    result = _judged(lambda made: 10.0 if {"a", "b"} <= made else 0.0, "a", "b")
    assert _classes(result) == {"a": (Class.NECESSARY,), "b": (Class.NECESSARY,)}


def test_two_cures_of_which_each_is_enough_are_both_sufficient() -> None:
    result = _judged(lambda made: 10.0 if {"a", "b"} & made else 0.0, "a", "b")
    assert _classes(result) == {"a": (Class.SUFFICIENT,), "b": (Class.SUFFICIENT,)}


def test_the_only_fix_is_necessary_and_sufficient_and_runs_in_three_arms() -> None:
    result = _judged(lambda made: 10.0 if "a" in made else 0.0, "a")
    assert _classes(result) == {"a": (Class.NECESSARY, Class.SUFFICIENT)}
    assert result.verdicts[0].spoken == "necessary and sufficient"
    assert [arm.name for arm in result.arms] == ["sick", "cured", "placebo"]


def test_a_change_that_brings_a_part_is_helpful() -> None:
    result = _judged(lambda made: 8.0 * ("a" in made) + 3.0 * ("b" in made), "a", "b")
    assert _classes(result)["b"] == (Class.HELPFUL,)


def test_a_change_that_does_nothing_has_no_effect_and_so_has_the_placebo() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made), "a", "nothing")
    assert _classes(result)["nothing"] == (Class.NO_EFFECT,)
    assert result.placebo is not None
    assert result.placebo.classes == (Class.NO_EFFECT,)


def test_a_change_that_takes_something_away_is_harmful_alone_and_among_the_fixes() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made) - 4.0 * ("bad" in made), "a", "bad")
    assert _classes(result)["bad"] == (Class.HARMFUL,)
    assert "alone it takes away 4" in result.verdicts[1].why


def test_advice_is_tried_alone_and_is_no_part_of_the_cure() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made) - 6.0 * ("advice" in made), "a", extra=("advice",))
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(10.0, abs=0.5)
    assert _classes(result)["advice"] == (Class.HARMFUL,)
    assert result.verdicts[1].within is None


def test_what_is_too_noisy_is_undecided_and_the_number_of_seeds_is_advised() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made), "a", "b", noise=6.0)
    verdict = result.verdicts[1]
    assert verdict.classes == (Class.UNDECIDED,)
    assert "seeds would probably decide" in verdict.why


def test_no_effect_is_never_said_of_what_could_still_be_large() -> None:
    """The interval decides, not the lack of a significant difference."""
    result = _judged(lambda made: 10.0 * ("a" in made), "a", "b", noise=3.0, seeds=6)
    effect = result.verdicts[1].alone
    assert effect is not None
    assert effect.p_adjusted > 0.05
    assert max(abs(effect.low), abs(effect.high)) > result.margin
    assert result.verdicts[1].classes == (Class.UNDECIDED,)


def test_a_lower_metric_may_be_the_better_one() -> None:
    result = _judged(lambda made: 5.0 - 4.0 * ("a" in made), "a", metric=Metric("val/loss", "min"))
    assert _classes(result) == {"a": (Class.NECESSARY, Class.SUFFICIENT)}


def test_five_seeds_are_said_to_be_too_few() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made), "a", seeds=5)
    assert _classes(result) == {"a": (Class.UNDECIDED,)}
    assert any("5 seeds cannot show an effect" in note for note in result.notes)


def test_runs_that_fail_count_as_the_bar() -> None:
    result = _judged(
        lambda made: 10.0 if "a" in made else math.nan, "a", metric=Metric("val/psnr", "max", bar=4.0)
    )
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(6.0, abs=0.5)
    assert any("failed; they count as 4, the bar" in note for note in result.notes)


def test_a_change_that_breaks_the_program_is_no_cure_however_high_the_bar() -> None:
    trial, arms, outcomes = _outcomes(
        lambda made: 10.0 if "a" in made else 1.0,
        "a",
        extra=("b",),
        metric=Metric("val/psnr", "max", bar=8.0),
    )
    said = ("Traceback", "ValueError: no such key", "")
    broken = [
        replace(one, ending=Ending.BROKEN, score=None, why="exit status 1", tail=said)
        if one.arm == "only b"
        else one
        for one in outcomes
    ]
    result = judge(trial, arms, broken)
    assert _classes(result)["b"] == (Class.CANNOT_BE_APPLIED,)
    verdict = next(one for one in result.verdicts if one.change == "b")
    assert verdict.alone is None
    assert verdict.why.endswith("(exit status 1); it said: ValueError: no such key")


def test_without_a_bar_runs_that_fail_count_as_no_better_than_the_worst_start() -> None:
    result = _judged(lambda made: 10.0 if "a" in made else math.nan, "a", first=1.5)
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(8.5, abs=0.5)
    assert any("count as 1.5, no better than the worst start of any run" in note for note in result.notes)


def test_what_exploded_before_it_first_measured_is_no_start_to_count_from() -> None:
    trial, arms, outcomes = _outcomes(lambda made: 10.0 if "a" in made else math.nan, "a", seeds=8, first=1.5)
    exploded = [replace(one, first=-1e14) if one.ending.failed else one for one in outcomes]
    distance = judge(trial, arms, exploded).distance
    assert distance is not None
    assert distance.mean == pytest.approx(8.5, abs=0.5)


def test_a_run_that_exploded_has_failed_and_does_not_outweigh_all_others() -> None:
    result = _judged(lambda made: 40.0 if "a" in made else -1e30, "a", first=1.0)
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(39.0, rel=0.01)
    assert any("16 of 24 runs failed; they count as 1," in note for note in result.notes)


def test_no_run_counts_for_less_than_those_that_diverged() -> None:
    """Else a run that sinks would be worse than one that is lost, and a single one would outweigh all."""
    trial, arms, outcomes = _outcomes(lambda made: 24.0 if "a" in made else math.nan, "a", seeds=8)
    trial = replace(trial, metric=replace(trial.metric, bar=20.0))
    sunken = [
        replace(one, ending=Ending.SCORED, score=5.0) if (one.arm, one.seed) == ("sick", 3) else one
        for one in outcomes
    ]
    differences = [judge(trial, arms, runs).distance for runs in (outcomes, sunken)]
    assert differences[0] is not None
    assert differences[1] is not None
    assert differences[1].mean == pytest.approx(differences[0].mean)


def test_a_run_that_ends_far_below_its_start_has_not_exploded() -> None:
    """A wrong sign takes the score down from where it began, and that is the distance to tell."""
    result = _judged(lambda made: 24.1 if "a" in made else 11.0, "a", first=24.0)
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(13.1, abs=0.2)


def test_runs_that_say_nothing_are_left_out_with_their_pairs() -> None:
    trial, arms, outcomes = _outcomes(lambda made: 10.0 * ("a" in made), "a", seeds=8)
    cut = [
        Outcome(one.arm, one.seed, Ending.TIMED_OUT) if (one.arm, one.seed) == ("sick", 3) else one
        for one in outcomes
    ]
    distance = judge(trial, arms, cut).distance
    assert distance is not None
    assert distance.seeds == (0, 1, 2, 4, 5, 6, 7)


def test_runs_that_are_the_same_on_every_seed_are_one_run() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made), "a", noise=0.0)
    assert _classes(result) == {"a": (Class.UNDECIDED,)}
    assert any("does not use the seed" in note for note in result.notes)


def test_a_change_that_moves_only_the_runs_own_score_changes_the_yardstick() -> None:
    def own(made: set[str]) -> float:
        return 10.0 * ("a" in made) + 5.0 * ("crop" in made)

    result = _judged(lambda made: 10.0 * ("a" in made), "a", "crop", own=own, evaluate=("evaluate",))
    assert _classes(result) == {"a": (Class.NECESSARY, Class.SUFFICIENT), "crop": (Class.CHANGES_YARDSTICK,)}
    assert result.verdicts[1].own is not None
    assert result.verdicts[1].own.mean == pytest.approx(5.0, abs=0.5)


def test_an_edit_of_the_yardstick_without_a_frozen_one_says_so() -> None:
    result = _judged(lambda made: 10.0 * ("crop" in made), "crop", yardstick=("crop",))
    assert _classes(result) == {"crop": (Class.CHANGES_YARDSTICK,)}


def test_a_placebo_that_acts_spoils_the_trial() -> None:
    result = _judged(lambda made: 10.0 * ("a" in made) + 6.0 * ("placebo" in made), "a")
    assert any("The placebo moved the score" in note for note in result.notes)


def test_wild_sick_runs_do_not_make_a_certain_effect_small() -> None:
    """The noise that sets the margin is that of the cured arm."""
    rng = np.random.default_rng(0)

    def noisy(made: set[str]) -> float:
        healthy = 20.0 if "b" in made else 18.0
        return healthy if "a" in made else float(10.0 + rng.normal(0, 4))

    assert _classes(_judged(noisy, "a", "b", noise=0.05))["b"] == (Class.HELPFUL,)


def _classes(result: TrialResult) -> dict[str, tuple[Class, ...]]:
    return {verdict.change: verdict.classes for verdict in result.verdicts}


def _judged(score, *names: str, **given: object) -> TrialResult:
    trial, arms, outcomes = _outcomes(score, *names, **given)
    return judge(trial, arms, outcomes)


def _outcomes(
    score,
    *names: str,
    extra: tuple[str, ...] = (),
    yardstick: tuple[str, ...] = (),
    seeds: int = 8,
    noise: float = 0.1,
    metric: Metric = Metric("val/psnr", "max"),  # noqa: B008
    first: float | None = None,
    own=None,
    evaluate: tuple[str, ...] = (),
):
    """Every arm on every seed, with the score of the changes it makes and a little noise."""
    changes = tuple(
        Change(name, (), in_cure=name not in extra, yardstick=name in yardstick) for name in (*names, *extra)
    )
    trial = Trial(
        "made up",
        Path("."),
        ("train",),
        metric,
        changes,
        Path("."),
        seeds=tuple(range(seeds)),
        placebo=PLACEBO,
        evaluate=evaluate,
    )
    rng = np.random.default_rng(1)
    arms = arms_of(trial)
    outcomes = []
    for arm in arms:
        for seed in trial.seeds:
            value = score(set(arm.changes)) + noise * rng.normal()
            by_itself = own(set(arm.changes)) + noise * rng.normal() if own else value
            failed = not math.isfinite(value)
            outcomes.append(
                Outcome(
                    arm.name,
                    seed,
                    Ending.DIVERGED if failed else Ending.SCORED,
                    None if failed else value,
                    None if failed else by_itself,
                    first=first,
                    fingerprint=f"{value}",
                )
            )
    return trial, arms, outcomes
