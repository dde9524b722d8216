"""One step among half a million is found at its own step; quick ways give what plain ones give."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.detectors import leap, non_finite, scaler, spike
from stethoscope.detectors.aftermath import FIRST_LOOK, Grade, follow
from stethoscope.detectors.counted import samples
from stethoscope.detectors.following import follows
from stethoscope.detectors.robust_stats import isotonic, isotonic_errors, smoothed
from stethoscope.findings import Finding, apply, rule_named
from stethoscope.run import Run, Segment, Series, Steps, Values
from stethoscope.signals import Missing, measure

LONG = 500_000
EVERY = 3  # steps between two points, so that an index does not pass for a step
RNG = np.random.default_rng(0)
QUIET = (2.0 + 9.0 * (1.0 + np.arange(LONG) / 1000.0) ** -0.5) * np.exp(0.02 * RNG.standard_normal(LONG))


def series(name: str, values: Values) -> Series:
    return Series(name, name, EVERY * np.arange(len(values), dtype=np.int64), values, "train.csv")


def found(rule: str, **curves: Values) -> tuple[Finding, ...]:
    signals = measure(Run("run", "run", series={name: series(name, v) for name, v in curves.items()}))
    outcome = apply(rule_named(rule), signals)
    assert not isinstance(outcome, Missing), outcome
    return outcome


# ---- one step among many ---------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 123_456, 262_144, LONG - 2])
def test_one_nan_is_found_at_its_step(at: int) -> None:
    loss = QUIET.copy()
    loss[at] = np.nan
    (one,) = found("non-finite-values", loss=loss)
    assert one.places[0].steps == (EVERY * at, EVERY * at)
    assert one.evidence["count"] == 1


def test_the_first_nan_of_those_that_last_is_found_at_its_step() -> None:
    loss = QUIET.copy()
    loss[77_777], loss[432_109:] = np.nan, np.nan
    (one,) = found("non-finite-values", loss=loss)
    assert one.places[0].steps == (EVERY * 432_109, EVERY * (LONG - 1))


@pytest.mark.parametrize("at", [1000, 65_535, 65_600, 65_601, 333_333])
def test_one_spike_is_found_at_its_step(at: int) -> None:
    loss = QUIET.copy()
    loss[at] *= 4.0
    (one,) = found("loss-spike", loss=loss)
    assert one.places[0].steps == (EVERY * at, EVERY * (at + 1))
    assert one.evidence["peak"] == loss[at]


def test_one_fall_of_the_scale_to_zero_is_found_at_its_step() -> None:
    scale = np.full(LONG, 65536.0)
    scale[345_678:] = 0.0
    (one,) = found("loss-scale-at-zero", loss_scale=scale)
    assert one.places[0].steps == (EVERY * 345_678, EVERY * (LONG - 1))


def test_the_best_single_evaluation_is_named_by_its_step() -> None:
    t = np.linspace(0.0, 1.0, LONG)
    score = 30.0 + np.minimum(t, 1.0 - t) + 0.05 * RNG.standard_normal(LONG)
    score[222_222] = 40.0
    (one,) = found("peak-then-decline", **{"val/psnr": score})
    assert one.evidence["best_single_step"] == EVERY * 222_222
    assert one.evidence["best_single_value"] == 40.0


def test_one_leap_of_the_rate_is_found_at_its_step() -> None:
    rate = 1e-4 * (1.0 + np.cos(np.linspace(0.0, 3.0, LONG)))
    rate[300_001:] += 1e-3
    (one,) = found("learning-rate-jump", lr=rate)
    assert one.places[0].steps == (EVERY * 300_001, EVERY * 300_001)


def test_a_spike_that_takes_long_to_heal_is_followed_to_its_end() -> None:
    loss = np.exp(0.02 * RNG.standard_normal(20_000))
    loss[5000 : 5000 + 3 * FIRST_LOOK] *= 3.0
    one, *_ = follow(np.arange(20_000), loss, spike.scan(loss))
    assert (one.at, one.grade) == (5000, Grade.LASTING)
    assert one.until == 5000 + 3 * FIRST_LOOK


# ---- the quick way gives what the plain one gives ----------------------------------------------------------


def test_a_long_scan_is_update_folded_over_the_series() -> None:
    values = np.exp(RNG.standard_t(3, 3 * spike.STRETCH // 2))
    values[::97] = np.nan
    state, verdicts = spike.init(), []
    for value in values.tolist():
        state, verdict = spike.update(state, value)
        verdicts.append(verdict)
    assert spike.scan(values).spikes.tolist() == verdicts
    assert any(verdicts)


@settings(max_examples=200)
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_bad_values_are_counted_as_one_by_one(bad: list[bool]) -> None:
    seen = non_finite.scan(np.where(bad, np.nan, 1.0))
    runs = [len(run) for run in "".join("x" if one else " " for one in bad).split()]
    assert (seen.count, seen.longest) == (sum(bad), max(runs, default=0))
    assert seen.first == (bad.index(True) if any(bad) else None)
    last_good = max((at for at, one in enumerate(bad) if not one), default=-1)
    assert seen.onset == (last_good + 1 if bad[-1] else None)


@settings(max_examples=200)
@given(st.lists(st.integers(-6, 6), max_size=60), st.integers(1, 7))
def test_overflows_are_counted_as_one_by_one(octaves: list[int], gap: int) -> None:
    steps = gap * np.arange(len(octaves), dtype=np.int64)
    seen = scaler.path(steps, 2.0 ** np.array(octaves, dtype=np.float64))
    assert (seen.steps_at, seen.skips_at) == one_by_one(steps, octaves)


def one_by_one(steps: Steps, octaves: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    steps_at: Counter[int] = Counter()
    skips_at: Counter[int] = Counter()
    for at, (before, after) in enumerate(pairwise(octaves)):
        steps_at[before] += int(steps[at + 1] - steps[at])
        for level in range(after + 1, before + 1):
            skips_at[level] += 1
            steps_at[level] += level != before
    return dict(+steps_at), dict(skips_at)


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 1.0, 3.0, 10.0]), min_size=3, max_size=80), st.integers(0, 40)
)
def test_a_leap_is_the_first_that_a_plain_loop_meets(logged: list[float], since: int) -> None:
    values = np.array(logged)
    seen = leap.leap(Series("loss", "loss", np.arange(len(values)), values), since)
    assert (seen.step if seen else None) == first_leap(values, since)


def first_leap(values: Values, since: int) -> int | None:
    initial = max(values[0], np.median(values[:3]))
    for at in range(max(1, min(since, len(values))), len(values)):
        level = values[max(0, at - leap.MEMORY) : at].max()
        bar = leap.LEAVES * level
        if initial > level:
            bar = min(bar, level + leap.HALF * (initial - level))
        if values[at] > bar and np.mean(values[at : at + leap.STAYS] > level) > leap.HALF:
            return at
    return None


def test_a_leap_far_into_the_series_is_met() -> None:
    calm = np.full(3 * leap.STRETCH, 0.01)
    calm[0], calm[2 * leap.STRETCH :] = 2.3, 1e6
    seen = leap.leap(series("loss", calm), EVERY)
    assert seen is not None
    assert seen.step == EVERY * 2 * leap.STRETCH


@given(st.lists(st.floats(-100.0, 100.0), max_size=40))
def test_the_errors_of_all_beginnings_are_those_of_each(logged: list[float]) -> None:
    values = np.array(logged, dtype=np.float64)
    each = [np.sum((values[:end] - isotonic(values[:end])) ** 2) for end in range(len(values) + 1)]
    np.testing.assert_allclose(isotonic_errors(values), each, atol=1e-8)


@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=40), st.integers(1, 50))
def test_smoothing_is_the_mean_of_the_last_values(logged: list[float], width: int) -> None:
    each = [np.mean(logged[max(0, at + 1 - width) : at + 1]) for at in range(len(logged))]
    np.testing.assert_allclose(smoothed(np.array(logged), width), each, atol=1e-9)


# ---- what a plain way would do in the square of the points ----------------------------------------------


def test_the_samples_behind_half_a_million_shares_are_counted() -> None:
    right = RNG.integers(100, 640, LONG)
    assert samples(np.round(right / 640, 6)) == 640
    assert samples(RNG.uniform(0.1, 0.9, LONG)) is None


def test_a_long_curve_that_follows_another_is_seen() -> None:
    leader = np.sin(np.linspace(0.0, 20.0, LONG))
    assert follows(series("loss", 3.0 + leader + 0.3 * RNG.standard_normal(LONG)), series("d", leader), 0)
    assert not follows(series("loss", 3.0 + 0.3 * RNG.standard_normal(LONG)), series("d", leader), 0)


def test_a_rate_that_leaps_at_every_step_is_a_schedule_but_where_the_run_was_resumed() -> None:
    rate = series("lr", np.where(np.arange(LONG) % 2, 1e-3, 1e-4))
    for segments, leaps in (((), 0), ((Segment(0, 3000, "a.log"), Segment(3000, 1_500_000, "b.log")), 1)):
        signals = measure(Run("run", "run", series={"lr": rate}, segments=segments))
        outcome = apply(rule_named("learning-rate-jump"), signals)
        assert isinstance(outcome, tuple)
        assert len(outcome) == leaps
