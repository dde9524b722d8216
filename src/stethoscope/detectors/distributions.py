"""Tail probabilities and quantiles of the few distributions the detectors need, in plain Python.

Scalars in, scalars out: a judgement asks for a handful of them, so clarity beats vectorisation. The
tests hold every function to an independent implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = 1e-300  # keeps continued fractions away from a division by zero
_CLOSE = 1e-14  # relative change at which a series or fraction has converged
_MOST_TERMS = 2000


def normal_tail(z: float) -> float:
    """P(Z > z) for a standard normal Z."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p."""
    return _invert(lambda z: 1.0 - normal_tail(z), p, -40.0, 40.0)


def t_tail(t: float, df: float) -> float:
    """P(T > t) for Student's t with `df` degrees of freedom."""
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    half = 0.5 * beta_cdf(df / (df + t * t), df / 2.0, 0.5)
    return half if t >= 0 else 1.0 - half


def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p."""
    reach = 1.0
    while t_tail(reach, df) > min(p, 1.0 - p) and reach < 1e12:
        reach *= 4.0
    return _invert(lambda t: 1.0 - t_tail(t, df), p, -reach, reach)


def chi2_tail(x: float, df: float) -> float:
    """P(X > x) for chi-squared with `df` degrees of freedom."""
    return 1.0 if x / 2.0 <= 0.0 else _upper_gamma(df / 2.0, x / 2.0)


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) for Beta(a, b): the regularised incomplete beta function."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The continued fraction converges fast only on its own side of the mean.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with P(X <= x) = p."""
    return _invert(lambda x: beta_cdf(x, a, b), p, 0.0, 1.0)


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided confidence interval of a proportion."""
    alpha = 1.0 - confidence
    low = 0.0 if successes == 0 else beta_quantile(alpha / 2.0, successes, trials - successes + 1)
    high = 1.0 if successes == trials else beta_quantile(1.0 - alpha / 2.0, successes + 1, trials - successes)
    return low, high


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The incomplete beta's continued fraction, by the modified Lentz method."""
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            fraction *= d * c
        if abs(d * c - 1.0) < _CLOSE:
            break
    return fraction


def _upper_gamma(a: float, x: float) -> float:
    """The regularised upper incomplete gamma function."""
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        return 1.0 - front * _lower_series(a, x)
    return front * _upper_fraction(a, x)


def _lower_series(a: float, x: float) -> float:
    term = total = 1.0 / a
    for n in range(1, _MOST_TERMS):
        term *= x / (a + n)
        total += term
        if term < total * _CLOSE:
            break
    return total


def _upper_fraction(a: float, x: float) -> float:
    b = x + 1.0 - a
    c = 1.0 / _TINY
    d = 1.0 / _away_from_zero(b)
    fraction = d
    for n in range(1, _MOST_TERMS):
        term = -n * (n - a)
        b += 2.0
        d = 1.0 / _away_from_zero(term * d + b)
        c = _away_from_zero(b + term / c)
        fraction *= d * c
        if abs(d * c - 1.0) < _CLOSE:
            break
    return fraction


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _invert(cdf: Callable[[float], float], p: float, low: float, high: float) -> float:
    """The argument at which an increasing function reaches p, by bisection."""
    if p <= 0.0:
        return low
    if p >= 1.0:
        return high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if cdf(middle) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
