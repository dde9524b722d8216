"""Every distribution agrees with scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stethoscope.detectors import distributions as ours

probabilities = st.floats(1e-6, 1 - 1e-6)
freedom = st.floats(0.5, 500)


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-6, abs=1e-12)


@given(st.floats(-30, 30))
def test_normal_tail(z: float) -> None:
    assert ours.normal_tail(z) == close(stats.norm.sf(z))


@given(probabilities)
def test_normal_quantile(p: float) -> None:
    assert ours.normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-6, abs=1e-9)


@given(st.floats(-50, 50), freedom)
def test_t_tail(t: float, df: float) -> None:
    assert ours.t_tail(t, df) == close(stats.t.sf(t, df))


@given(st.floats(0.001, 0.999), st.floats(1, 300))
def test_t_quantile(p: float, df: float) -> None:
    assert ours.t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-5, abs=1e-6)


@given(st.floats(0, 200), freedom)
def test_chi2_tail(x: float, df: float) -> None:
    assert ours.chi2_tail(x, df) == close(stats.chi2.sf(x, df))


@given(st.floats(0, 1), st.floats(0.3, 2000), st.floats(0.3, 2000))
def test_beta_cdf(x: float, a: float, b: float) -> None:
    assert ours.beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-6, abs=1e-10)


@given(st.floats(0.001, 0.999), st.floats(0.5, 200), st.floats(0.5, 200))
def test_beta_quantile(p: float, a: float, b: float) -> None:
    assert ours.beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 7), (14, 40_000)])
def test_clopper_pearson(successes: int, trials: int) -> None:
    exact = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    low, high = ours.clopper_pearson(successes, trials)
    assert (low, high) == (close(exact.low), close(exact.high))
